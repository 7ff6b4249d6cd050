#pragma once

#include <memory>

#include "apps/right_hand_sides.hpp"

namespace basalt {

/// How far a computed X is from solving A X = B, infinity norms, the worst column; eps = 2^-53 or 2^-24. 0 for empty
/// systems; NaN where X holds one.
///
/// Where A (m x n) has more rows than columns, b - A x is no error, but what of it is in A's range: the numerators then
/// are
/// ||A^T (b - A x)|| / ||A^T||, and the ratio is the backward error / (m eps).
struct SolveErrors {
    double ratio = 0;           ///< ||b - A x|| / (n ||A|| ||x|| eps)
    double backward_error = 0;  ///< ||b - A x|| / (||A|| ||x|| + ||b||): Rigal and Gaches (J. ACM 14, 1967)
};

/// Runs as tasks of `runtime` and waits for them. For float and double.
template <class T>
SolveErrors solve_errors(Runtime& runtime, std::shared_ptr<const Generator<T>> matrix, const Columns<T>& x,
                         const Columns<T>& b);

}  // namespace basalt
