#pragma once

#include <type_traits>

#include "kernels/cpu/blas/blas.hpp"

namespace basalt::blas {

/// y -= A x for A row- or column-major, x and y views of one column with any strides. Reentrant.
template <class T>
void gemv_minus(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x, View<T> y) {
    assert(x.cols() == 1 && y.cols() == 1 && a.rows() == y.rows() && a.cols() == x.rows());
    if (a.empty()) return;
    const Storage s = storage(a);
    const CBLAS_ORDER order = s.row_major ? CblasRowMajor : CblasColMajor;
    const int m = blas_int(a.rows()), n = blas_int(a.cols()), lda = s.ld;
    const int incx = blas_int(x.row_stride()), incy = blas_int(y.row_stride());
    if constexpr (std::is_same_v<T, float>) {
        cblas_sgemv(order, CblasNoTrans, m, n, -1, a.data(), lda, x.data(), incx, 1, y.data(), incy);
    } else {
        cblas_dgemv(order, CblasNoTrans, m, n, -1, a.data(), lda, x.data(), incx, 1, y.data(), incy);
    }
}

}  // namespace basalt::blas
