#pragma once

#include "basalt/generator.hpp"
#include "basalt/qr.hpp"

namespace basalt {

/// How far Q R is from A, and Q^T Q from the unit matrix, seen through vectors x and y of random signs: the larger of
///   ||(A - Q R) x||_oo / (max(m, n) ||A||_oo eps) and ||(I - Q^T Q) y||_oo / (m ||y||_oo eps), eps = 2^-53 or 2^-24.
/// 0 for an empty matrix. `factors` is the matrix that `qr` is the factorization of; waits for everything submitted to
/// the runtime.
template <class T>
double qr_residual_ratio(Runtime& runtime, const Generator<T>& generator, const Matrix<T>& factors,
                         const QrFactors<T>& qr);

}  // namespace basalt
