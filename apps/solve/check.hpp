#pragma once

#include <memory>

#include "apps/solve/right_hand_sides.hpp"

namespace basalt {

/// How far a computed X is from solving A X = B, in infinity norms, for the worst column. eps is 2^-53 or 2^-24. 0 for
/// empty systems; NaN if X holds a NaN.
///
/// If A (m x n) has more rows than columns, only the part of b - A x in A's range is an error: the numerators then
/// are ||A^T (b - A x)|| / ||A^T||, and the ratio is the backward error / (m eps).
struct SolveErrors {
    double ratio = 0;           ///< ||b - A x|| / (n ||A|| ||x|| eps)
    double a_inf = 0;           ///< ||A||
    double backward_error = 0;  ///< ||b - A x|| / (||A|| ||x|| + ||b||): Rigal and Gaches (J. ACM 14, 1967)
};

/// Runs as tasks of `runtime` and waits for them. For float and double.
template <class T>
SolveErrors solve_errors(Runtime& runtime, std::shared_ptr<const Generator<T>> matrix, const Columns<T>& x,
                         const Columns<T>& b);

}  // namespace basalt
