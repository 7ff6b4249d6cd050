#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/batch/lapack.hpp"
#include "kernels/cpu/blas/serial.hpp"

/// QR of one matrix of a batch: plain loops for few elements, LAPACK above.
namespace basalt::cpu_kernels {

/// Elements up to which plain loops are faster than a call of LAPACK.
constexpr Index most_plain_qr = 64;

/// The norm of x, also where its square leaves the range of the numbers.
template <class T>
T norm_of(Index n, const T* x) {
    constexpr bool single = sizeof(T) == sizeof(float);
    constexpr T least_square = single ? T(1e-30) : T(1e-280), most_square = single ? T(1e36) : T(1e300);
    T square{}, largest{};
    for (Index i = 0; i < n; ++i) square += x[i] * x[i];
    if (square >= least_square && square <= most_square) return std::sqrt(square);
    if (std::isnan(square)) return square;
    for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
    if (largest == T{} || std::isinf(largest)) return largest;
    square = T{};
    for (Index i = 0; i < n; ++i) square += (x[i] / largest) * (x[i] / largest);
    return largest * std::sqrt(square);
}

/// The reflector H = I - tau v v^T with H x = (beta, 0, ..., 0), as LAPACK's larfg: x gets beta and v below it, whose
/// first element is one. Returns tau.
template <class T>
T make_reflector(Index n, T* x) {
    constexpr T safe = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const T tail = norm_of(n - 1, x + 1);
    if (tail == T{}) return T{};
    const T norm = norm_of(n, x);
    if (norm < safe) {  // few digits are left, so that all move up for a while
        for (Index i = 0; i < n; ++i) x[i] *= 1 / safe;
        const T tau = make_reflector(n, x);
        x[0] *= safe;
        return tau;
    }
    const T alpha = x[0], beta = -std::copysign(norm, alpha);
    const T reciprocal = 1 / (alpha - beta);
    for (Index i = 1; i < n; ++i) x[i] *= reciprocal;
    x[0] = beta;
    return (beta - alpha) / beta;
}

/// LAPACK's geqrf without its blocks.
template <class T>
void factor_qr_plainly(const View<T>& a, T* tau) {
    const Index m = a.rows(), n = a.cols();
    for (Index k = 0; k < (m < n ? m : n); ++k) {
        T* const v = &a(k, k);
        const Index rows = m - k;
        tau[k] = make_reflector(rows, v);
        for (Index c = k + 1; c < n && tau[k] != T{}; ++c) {
            T* const x = &a(k, c);
            T product = x[0];
            for (Index i = 1; i < rows; ++i) product += v[i] * x[i];
            product *= tau[k];
            x[0] -= product;
            for (Index i = 1; i < rows; ++i) x[i] -= v[i] * product;
        }
    }
}

/// LAPACK's geqrf.
template <class T>
void factor_qr_alone(const View<T>& a, T* tau) {
    if (a.empty()) return;
    if (a.rows() * a.cols() <= most_plain_qr) return factor_qr_plainly(a, tau);
    const BlasSerial serial;
    lapack::geqrf(a, tau);
}

}  // namespace basalt::cpu_kernels
