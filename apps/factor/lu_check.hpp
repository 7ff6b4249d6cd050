#pragma once

#include <memory>
#include <vector>

#include "basalt/generator.hpp"
#include "basalt/lu.hpp"

namespace basalt {

/// How far P L U is from A, seen through one vector v of random signs:
///   ||(A - P L U) v||_oo / (n ||A||_oo eps), eps = 2^-53 or 2^-24,
/// a lower bound of LAPACK's ratio in the infinity norm, at the cost of three matrix-vector products. 0 for
/// an empty matrix. `factors` holds L and U; waits for everything submitted to the runtime.
template <class T>
double lu_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factors,
                         const std::vector<Index>& pivots);

/// The same where the factors lie on GPUs: all products are made there, with the matrix generated again in the
/// factors' place.
template <class T>
double lu_residual_ratio_on_gpus(Runtime& runtime, const std::shared_ptr<const Generator<T>>& generator,
                                 Matrix<T>& factors, const std::vector<Index>& pivots);

}  // namespace basalt
