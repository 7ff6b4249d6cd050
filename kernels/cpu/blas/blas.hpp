#pragma once

#include <algorithm>
#include <cassert>
#include <complex>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <cblas.h>

#include "kernels/triangle.hpp"

/// Views in front of CBLAS. A view is row-major (col_stride 1) or column-major (row_stride 1); nothing else
/// is accepted (asserted). Any dimension may be 0. CBLAS counts with 32-bit int: a dimension beyond it throws
/// std::length_error. Reentrant; the number of threads is OpenBLAS's setting.
namespace basalt::blas {

inline int blas_int(Index value) {
    if (value > std::numeric_limits<int>::max()) {
        throw std::length_error("BLAS dimension " + std::to_string(value) + " exceeds 32 bits");
    }
    return static_cast<int>(value);
}

/// Layout and leading dimension of a view, as CBLAS wants them.
struct Storage {
    bool row_major;
    int ld;
};

template <class T>
Storage storage(View<T> a) {
    const bool row_major = a.col_stride() == 1 || a.cols() <= 1;
    assert(row_major || a.row_stride() == 1 || a.rows() <= 1);
    const Index stride = row_major ? a.row_stride() : a.col_stride();
    const Index least = std::max<Index>(1, row_major ? a.cols() : a.rows());
    return {row_major, blas_int(std::max(stride, least))};
}

/// Storage of an operand of a call in the given layout: an operand stored the other way is transposed.
struct Operand {
    CBLAS_TRANSPOSE op;
    int ld;
};

template <class T>
Operand operand(View<T> a, bool row_major) {
    const Storage s = storage(a);
    return {s.row_major == row_major ? CblasNoTrans : CblasTrans, s.ld};
}

/// C = alpha A B + beta C, every operand in either layout.
template <class T>
void gemm(std::type_identity_t<T> alpha, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> b,
          std::type_identity_t<T> beta, View<T> c) {
    static_assert(std::is_floating_point_v<T>, "complex is not wired yet");
    assert(a.rows() == c.rows() && b.cols() == c.cols() && a.cols() == b.rows());
    if (c.empty()) return;
    const Storage cs = storage(c);
    const CBLAS_ORDER order = cs.row_major ? CblasRowMajor : CblasColMajor;
    const Operand as = operand(a, cs.row_major), bs = operand(b, cs.row_major);
    const int m = blas_int(c.rows()), n = blas_int(c.cols()), k = blas_int(a.cols());
    if constexpr (std::is_same_v<T, float>) {
        cblas_sgemm(order, as.op, bs.op, m, n, k, alpha, a.data(), as.ld, b.data(), bs.ld, beta, c.data(), cs.ld);
    } else {
        cblas_dgemm(order, as.op, bs.op, m, n, k, alpha, a.data(), as.ld, b.data(), bs.ld, beta, c.data(), cs.ld);
    }
}

/// Solves T X = alpha B (left) or X T = alpha B (right) in place of B. `triangle` names the triangle of the
/// view t as it stands: pass transposed(t) with the other triangle for a transposed solve.
template <class T>
void trsm(Side side, Triangle triangle, Diagonal diagonal, std::type_identity_t<T> alpha,
          std::type_identity_t<View<const T>> t, View<T> b) {
    static_assert(std::is_floating_point_v<T>, "complex is not wired yet");
    assert(t.rows() == t.cols() && t.rows() == (side == Side::left ? b.rows() : b.cols()));
    if (b.empty()) return;
    const Storage bs = storage(b);
    const CBLAS_ORDER order = bs.row_major ? CblasRowMajor : CblasColMajor;
    const Operand ts = operand(t, bs.row_major);
    // seen in B's layout, a transposed operand shows its other triangle
    const bool lower = (triangle == Triangle::lower) == (ts.op == CblasNoTrans);
    const CBLAS_SIDE s = side == Side::left ? CblasLeft : CblasRight;
    const CBLAS_UPLO u = lower ? CblasLower : CblasUpper;
    const CBLAS_DIAG d = diagonal == Diagonal::unit ? CblasUnit : CblasNonUnit;
    const int m = blas_int(b.rows()), n = blas_int(b.cols());
    if constexpr (std::is_same_v<T, float>) {
        cblas_strsm(order, s, u, ts.op, d, m, n, alpha, t.data(), ts.ld, b.data(), bs.ld);
    } else {
        cblas_dtrsm(order, s, u, ts.op, d, m, n, alpha, t.data(), ts.ld, b.data(), bs.ld);
    }
}

/// C = alpha A A^T + beta C for the named triangle of C alone; either layout for both.
template <class T>
void syrk(Triangle triangle, std::type_identity_t<T> alpha, std::type_identity_t<View<const T>> a,
          std::type_identity_t<T> beta, View<T> c) {
    static_assert(std::is_floating_point_v<T>, "complex is not wired yet");
    assert(c.rows() == c.cols() && a.rows() == c.rows());
    if (c.empty()) return;
    const Storage cs = storage(c);
    const CBLAS_ORDER order = cs.row_major ? CblasRowMajor : CblasColMajor;
    const Operand as = operand(a, cs.row_major);
    const CBLAS_UPLO u = triangle == Triangle::lower ? CblasLower : CblasUpper;
    const int n = blas_int(c.rows()), k = blas_int(a.cols());
    if constexpr (std::is_same_v<T, float>) {
        cblas_ssyrk(order, u, as.op, n, k, alpha, a.data(), as.ld, beta, c.data(), cs.ld);
    } else {
        cblas_dsyrk(order, u, as.op, n, k, alpha, a.data(), as.ld, beta, c.data(), cs.ld);
    }
}

}  // namespace basalt::blas
