#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/batch/lapack.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/reflector.hpp"

/// QR of one matrix of a batch: plain loops for few elements, LAPACK above.
namespace basalt::cpu_kernels {

/// Elements up to which plain loops are faster than a call of LAPACK.
constexpr Index most_plain_qr = 64;

/// Column x under its reflector, as LAPACK's larfg: x gets beta and v below it. Returns tau.
template <class T>
T reflect_to_axis(Index n, T* x) {
    T largest{}, squares{};
    for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
    const int exponent = scaling_exponent(largest);
    for (Index i = 0; exponent != 0 && i < n; ++i) x[i] = std::ldexp(x[i], exponent);
    for (Index i = 1; i < n; ++i) squares += x[i] * x[i];
    const Reflector<T> h = make_reflector(x[0], squares);
    for (Index i = 1; i < n; ++i) x[i] = h.tau == T{} ? T{} : x[i] * h.scale;
    x[0] = exponent == 0 ? h.beta : std::ldexp(h.beta, -exponent);
    return h.tau;
}

/// LAPACK's geqrf without its blocks.
template <class T>
void factor_qr_plainly(const View<T>& a, T* tau) {
    const Index m = a.rows(), n = a.cols();
    for (Index k = 0; k < (m < n ? m : n); ++k) {
        T* const v = &a(k, k);
        const Index rows = m - k;
        tau[k] = reflect_to_axis(rows, v);
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
