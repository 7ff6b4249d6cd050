#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tiles/tile_columns.hpp"

namespace basalt::reference {

/// Element (i, j) of the padded matrix [A 0; 0 E] of tiles/convert.hpp, A of `grid`'s shape, whose true
/// elements `element(i, j)` gives.
template <class T, class Element>
T padded_element(const TileGrid& grid, Index i, Index j, Element element) {
    const bool true_row = i < grid.rows(), true_col = j < grid.cols();
    if (true_row && true_col) return element(i, j);
    return !true_row && !true_col && i == j ? T{1} : T{0};
}

/// Whole tile columns `deal` of it.
template <class T, class Element>
void fill_tile_columns(const TileGrid& grid, TileDeal deal, TileColumns<T> target, Element element) {
    for (Index l = 0; l < target.columns; ++l) {
        const Index first = grid.first_col(deal.column(l));
        for (Index i = 0; i < target.rows; ++i) {
            for (Index c = 0; c < target.width; ++c) {
                target.column(l)(i, c) = padded_element<T>(grid, i, first + c, element);
            }
        }
    }
}

/// max |a|, ||A||_1, ||A||_oo and ||A||_F of a true matrix, NaN where it holds one. The squares are scaled by
/// the largest magnitude.
struct Norms {
    double max = 0;
    double one = 0;
    double infinity = 0;
    double frobenius = 0;
};

template <class T>
Norms norms(View<const T> a) {
    Norms found;
    std::vector<double> column_sums(static_cast<std::size_t>(a.cols()));
    bool any_nan = false;
    for (Index i = 0; i < a.rows(); ++i) {
        double row_sum = 0;
        for (Index j = 0; j < a.cols(); ++j) {
            const double magnitude = std::abs(static_cast<double>(a(i, j)));
            any_nan = any_nan || std::isnan(magnitude);
            row_sum += magnitude;
            column_sums[static_cast<std::size_t>(j)] += magnitude;
            found.max = std::max(found.max, magnitude);
        }
        found.infinity = std::max(found.infinity, row_sum);
    }
    for (const double sum : column_sums) found.one = std::max(found.one, sum);
    double squares = 0;
    for (Index i = 0; i < a.rows(); ++i) {
        for (Index j = 0; j < a.cols(); ++j) {
            const double scaled = found.max > 0 ? static_cast<double>(a(i, j)) / found.max : 0;
            squares += scaled * scaled;
        }
    }
    found.frobenius = std::isinf(found.max) ? found.max : found.max * std::sqrt(squares);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return any_nan ? Norms{nan, nan, nan, nan} : found;
}

}  // namespace basalt::reference
