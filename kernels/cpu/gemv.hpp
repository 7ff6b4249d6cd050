#pragma once

#include <type_traits>

#include "kernels/cpu/blas.hpp"

namespace basalt::blas {

/// y -= A x for A row-major, x and y views of one column with any strides. Reentrant.
template <class T>
void gemv_minus(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x, View<T> y) {
    assert(a.col_stride() == 1 && x.cols() == 1 && y.cols() == 1 && a.rows() == y.rows() && a.cols() == x.rows());
    if (a.empty()) return;
    const int m = blas_int(a.rows()), n = blas_int(a.cols()), lda = blas_int(std::max(a.row_stride(), a.cols()));
    const int incx = blas_int(x.row_stride()), incy = blas_int(y.row_stride());
    if constexpr (std::is_same_v<T, float>) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, -1, a.data(), lda, x.data(), incx, 1, y.data(), incy);
    } else {
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, n, -1, a.data(), lda, x.data(), incx, 1, y.data(), incy);
    }
}

}  // namespace basalt::blas
