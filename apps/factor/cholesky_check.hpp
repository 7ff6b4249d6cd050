#pragma once

#include "basalt/generator.hpp"
#include "basalt/matrix.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// How far L L^T or U^T U is from A, seen through one vector v of random signs:
///   ||(A - L L^T) v||_oo / (n ||A||_oo eps), eps = 2^-53 or 2^-24,
/// a lower bound of LAPACK's ratio in the infinity norm, at the cost of three matrix-vector products. 0 for an empty
/// matrix. `factor` holds L or U in that triangle; waits for everything submitted to the runtime.
template <class T>
double cholesky_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factor,
                               Triangle triangle);

}  // namespace basalt
