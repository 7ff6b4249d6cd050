#include "kernels/cpu/triangle/substitution.hpp"

#include <cmath>
#include <limits>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"

namespace basalt::cpu_kernels {

namespace {

/// Whether the reciprocal of an element on the diagonal may overflow. BLAS multiplies by reciprocals.
template <class T>
bool has_denormal_pivot(View<const T> t) {
    for (Index i = 0; i < t.rows(); ++i) {
        const T magnitude = std::abs(t(i, i));
        if (magnitude > T{0} && magnitude < std::numeric_limits<T>::min()) return true;
    }
    return false;
}

/// Substitution that divides by the diagonal: slower, and rarely needed.
template <class T>
void solve_by_quotients(Triangle triangle, View<const T> t, View<T> x) {
    const Index n = t.rows();
    for (Index step = 0; step < n; ++step) {
        const bool lower = triangle == Triangle::lower;
        const Index k = lower ? step : n - 1 - step, begin = lower ? k + 1 : 0, end = lower ? n : k;
        for (Index j = 0; j < x.cols(); ++j) {
            x(k, j) /= t(k, k);
            for (Index i = begin; i < end; ++i) x(i, j) -= t(i, k) * x(k, j);
        }
    }
}

}  // namespace

template <class T>
void solve_triangle(Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t, View<T> x) {
    if (diagonal == Diagonal::stored && has_denormal_pivot<T>(t)) return solve_by_quotients<T>(triangle, t, x);
    const BlasSerial serial;
    blas::trsm<T>(Side::left, triangle, diagonal, T{1}, t, x);
}

template void solve_triangle<float>(Triangle, Diagonal, View<const float>, View<float>);
template void solve_triangle<double>(Triangle, Diagonal, View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
