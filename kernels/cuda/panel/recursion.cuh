#pragma once

#include <algorithm>
#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::cuda_detail {

/// Widest block of columns that interchange_outside() takes.
inline constexpr int most_interchanges = 64;

/// Exchanges row first + k of the panel with row pivots[first + k], for k = 0, 1, ... < cols in turn, in all columns
/// but [first, first + cols). cols <= most_interchanges.
template <class T>
void interchange_outside(Stream stream, View<T> panel, Index first, Index cols, const Index* pivots);

/// B = L^-1 B for L unit lower triangular, and C -= A B below them.
template <class T>
void solve(Stream stream, std::type_identity_t<View<const T>> l, View<T> b) {
    const TileColumns<T> rows = one_tile_column(b);
    on_stream::solve_by_substitution<T>(stream, l, rows, rows);
}

/// C -= A B
template <class T>
void subtract_plain_product(Stream stream, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> b,
                            View<T> c) {
    batched_gemm<T>(stream, 1, T{-1}, {a}, {b}, T{1}, Batched<T>{c});
}

/// The recursion over columns [first, first + cols) from row `first` down, to blocks of columns that `leaf` factors:
///
///     A_00 | A_01     factor A_00 over A_10, exchange rows everywhere else
///     -----+-----     A_01 = L_00^-1 A_01,  A_11 -= A_10 A_01
///     A_10 | A_11     factor A_11, exchange rows everywhere else
///
/// At most leaf.width(rows) columns of `rows` rows are a leaf; leaf.factor(first, cols) factors one in place and sets
/// pivots[first + k], counted from the panel's first row; leaf.interchange_outside(first, cols) exchanges row first + k
/// with row pivots[first + k] in all other columns. Rows are exchanged in all other columns at once, after each leaf,
/// so that a level of the recursion is one solve and one update; update(a_10, a_01, a_11) makes it. Abdelfattah,
/// Haidar, Tomov, Dongarra, "Analysis and Design Techniques towards High-Performance and Energy-Efficient Dense Linear
/// Solvers on GPUs", section 6.3, figure 4.
template <class T, class Leaf, class Update>
void factor_columns(Stream stream, View<T> panel, Index first, Index cols, const Leaf& leaf, const Update& update) {
    const Index rows = panel.rows() - first, width = leaf.width(rows);
    if (cols <= width) {
        leaf.factor(first, cols);
        leaf.interchange_outside(first, cols);
        return;
    }
    const Index left = divide_up(divide_up(cols, width), 2) * width, right = cols - left;
    factor_columns<T>(stream, panel, first, left, leaf, update);
    const View<T> a00 = panel.block(first, first, left, left),
                  a10 = panel.block(first + left, first, rows - left, left),
                  a01 = panel.block(first, first + left, left, right),
                  a11 = panel.block(first + left, first + left, rows - left, right);
    solve<T>(stream, a00, a01);
    update(a10, a01, a11);
    factor_columns<T>(stream, panel, first + left, right, leaf, update);
}

/// The whole panel; the columns right of its square are part of U.
template <class T, class Leaf, class Update>
void factor_recursively(Stream stream, View<T> panel, const Leaf& leaf, const Update& update) {
    const Index square = std::min(panel.rows(), panel.cols());
    factor_columns<T>(stream, panel, 0, square, leaf, update);
    if (panel.cols() > square) {
        solve<T>(stream, panel.block(0, 0, square, square), panel.block(0, square, square, panel.cols() - square));
    }
}

/// With plain products.
template <class T, class Leaf>
void factor_recursively(Stream stream, View<T> panel, const Leaf& leaf) {
    factor_recursively<T>(stream, panel, leaf, [stream](View<const T> a, View<const T> b, View<T> c) {
        subtract_plain_product<T>(stream, a, b, c);
    });
}

}  // namespace basalt::cuda_detail
