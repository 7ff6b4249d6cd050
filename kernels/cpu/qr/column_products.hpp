#pragma once

#include <algorithm>

#include "kernels/cpu/products/gemm.hpp"
#include "kernels/triangle.hpp"

/// Products of tall column-major matrices, a stretch of rows at a time, on the packed kernels of gemm.hpp: a
/// column-major matrix is the transpose of a row-major one. `packed` has room for packed_columns_size() elements.
/// Single-threaded, reentrant.
namespace basalt {

/// Rows of a stretch: with them the second cache is not yet full.
inline constexpr Index stretch_rows = 512;

/// For `left` columns.
template <class T>
Index packed_columns_size(Index left) {
    return std::max(packed_size<T>(std::max(stretch_rows, left), left), packed_size<T>(left, stretch_rows));
}

/// W -= Y^T X for X (m x left) and Y (m x right), W row-major (right x left).
template <class T>
void subtract_products(View<T> w, std::type_identity_t<View<const T>> y, std::type_identity_t<View<const T>> x,
                       T* packed) {
    for (Index row = 0; row < x.rows(); row += stretch_rows) {
        const Index rows = std::min(stretch_rows, x.rows() - row);
        pack_columns<T>(x.block(row, 0, rows, x.cols()), packed);
        gemm_minus<T>(w, transposed(y.block(row, 0, rows, y.cols())), packed);
    }
}

/// A -= V X^T for V (m x left) and A (m x right), X row-major (right x left).
template <class T>
void subtract_outer(View<T> a, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> x,
                    T* packed) {
    for (Index row = 0; row < v.rows(); row += stretch_rows) {
        const Index rows = std::min(stretch_rows, v.rows() - row);
        pack_b<T>(transposed(v.block(row, 0, rows, v.cols())), packed);
        gemm_minus<T>(transposed(a.block(row, 0, rows, a.cols())), x, packed);
    }
}

}  // namespace basalt
