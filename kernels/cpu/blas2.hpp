#pragma once

#include <type_traits>

#include "kernels/cpu/blas.hpp"

/// Level 2 on column-major matrices. Vectors are views of one column with any stride. Reentrant.
namespace basalt::blas {

/// y = A^T x; y is zero where A has no rows.
template <class T>
void gemv_transposed(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x, View<T> y) {
    assert((a.row_stride() == 1 || a.rows() <= 1) && a.rows() == x.rows() && a.cols() == y.rows());
    if (a.empty()) {
        for (Index j = 0; j < y.rows(); ++j) y[j] = T{0};
        return;
    }
    const int m = blas_int(a.rows()), n = blas_int(a.cols()), lda = blas_int(std::max(a.col_stride(), a.rows()));
    const int incx = blas_int(x.row_stride()), incy = blas_int(y.row_stride());
    if constexpr (std::is_same_v<T, float>) {
        cblas_sgemv(CblasColMajor, CblasTrans, m, n, 1, a.data(), lda, x.data(), incx, 0, y.data(), incy);
    } else {
        cblas_dgemv(CblasColMajor, CblasTrans, m, n, 1, a.data(), lda, x.data(), incx, 0, y.data(), incy);
    }
}

/// A -= x y^T
template <class T>
void ger_minus(std::type_identity_t<View<const T>> x, std::type_identity_t<View<const T>> y, View<T> a) {
    assert((a.row_stride() == 1 || a.rows() <= 1) && a.rows() == x.rows() && a.cols() == y.rows());
    if (a.empty()) return;
    const int m = blas_int(a.rows()), n = blas_int(a.cols()), lda = blas_int(std::max(a.col_stride(), a.rows()));
    const int incx = blas_int(x.row_stride()), incy = blas_int(y.row_stride());
    if constexpr (std::is_same_v<T, float>) {
        cblas_sger(CblasColMajor, m, n, -1, x.data(), incx, y.data(), incy, a.data(), lda);
    } else {
        cblas_dger(CblasColMajor, m, n, -1, x.data(), incx, y.data(), incy, a.data(), lda);
    }
}

}  // namespace basalt::blas
