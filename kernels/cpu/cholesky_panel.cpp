#include "kernels/cpu/cholesky_panel.hpp"

#include <algorithm>

#include "kernels/cpu/blas.hpp"
#include "kernels/cpu/blas_serial.hpp"
#include "kernels/cpu/cholesky.hpp"

namespace basalt::cpu_kernels {

template <class T>
void cholesky_panel(View<T> panel, Index* info) {
    const Index n = panel.cols();
    const View<T> square = panel.block(0, 0, n, n), below = panel.block(n, 0, panel.rows() - n, n);
    *info = factor_triangle(Triangle::lower, square);
    if (*info != 0) return;
    const BlasSerial serial;
    blas::trsm<T>(Side::right, Triangle::upper, Diagonal::stored, T{1}, transposed(square), below);
}

template <class T>
void subtract_transposed_product(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> b,
                                 View<T> c) {
    const BlasSerial serial;
    blas::gemm<T>(T{-1}, a, transposed(b), T{1}, c);
}

template <class T>
void save_above_diagonal(std::type_identity_t<View<const T>> a, View<T> saved) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index d = 1; d < std::min(saved.cols(), a.cols() - i); ++d) saved(i, d) = a(i, i + d);
    }
}

template <class T>
void restore_above_diagonal(std::type_identity_t<View<const T>> saved, View<T> a) {
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index d = 1; d < std::min(saved.cols(), a.cols() - i); ++d) a(i, i + d) = saved(i, d);
    }
}

template void cholesky_panel<float>(View<float>, Index*);
template void cholesky_panel<double>(View<double>, Index*);
template void subtract_transposed_product<float>(View<const float>, View<const float>, View<float>);
template void subtract_transposed_product<double>(View<const double>, View<const double>, View<double>);
template void save_above_diagonal<float>(View<const float>, View<float>);
template void save_above_diagonal<double>(View<const double>, View<double>);
template void restore_above_diagonal<float>(View<const float>, View<float>);
template void restore_above_diagonal<double>(View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
