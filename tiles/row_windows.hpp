#pragma once

#include <algorithm>
#include <string>

#include <basalt/error.hpp>

#include "tiles/grid.hpp"

namespace basalt {

/// Throws UsageError unless tile column j exists and [row_begin, row_end) lies in its padded rows.
inline void check_tile_column_rows(const TileGrid& grid, Index j, Index row_begin, Index row_end) {
    if (j < 0 || j >= grid.tile_cols()) {
        throw UsageError("tile column " + std::to_string(j) + " does not exist; there are " +
                         std::to_string(grid.tile_cols()));
    }
    if (row_begin < 0 || row_end < row_begin || row_end > grid.padded_rows()) {
        throw UsageError("rows [" + std::to_string(row_begin) + ", " + std::to_string(row_end) +
                         ") of a tile column do not exist; it has " + std::to_string(grid.padded_rows()) +
                         " padded rows");
    }
}

/// Calls visit(window, row) for the strided windows that make up rows [row_begin, row_end) of a stored tile column.
/// `window` is as wide as a tile, padding included; `row` is the matrix row of its first row. CRRB has one such window,
/// CCRB one for each tile.
template <class T, class Visit>
void for_each_window(const TileGrid& grid, Index row_begin, Index row_end, ElementOrder order, T* column, Visit visit) {
    const auto [height, width] = grid.shape();
    if (order == ElementOrder::row_major) {
        const Index rows = row_end - row_begin;
        if (rows > 0) visit(View<T>::row_major(column + row_begin * width, rows, width, width), row_begin);
        return;
    }
    for (Index row = row_begin; row < row_end;) {
        const Index i = grid.tile_row_of(row);
        const Index top = grid.first_row(i);
        const Index bottom = std::min(top + height, row_end);
        T* const tile = column + i * grid.tile_size();
        visit(View<T>::column_major(tile + (row - top), bottom - row, width, height), row);
        row = bottom;
    }
}

/// The part of such a window of tile column j that holds elements of the matrix.
template <class T>
View<T> true_part(const TileGrid& grid, Index j, View<T> window, Index row) {
    const Index rows = std::clamp<Index>(grid.rows() - row, 0, window.rows());
    return window.block(0, 0, rows, grid.tile_width(j));
}

}  // namespace basalt
