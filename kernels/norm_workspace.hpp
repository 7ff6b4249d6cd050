#pragma once

#include "tiles/tile_columns.hpp"

namespace basalt {

/// Rows and columns of a tile column whose elements one block of a GPU adds up.
inline constexpr Index norm_block_rows = 1024;
inline constexpr Index norm_block_cols = 256;

/// Blocks down and across one tile column.
constexpr Index norm_blocks_down(Index rows) { return (rows + norm_block_rows - 1) / norm_block_rows; }
constexpr Index norm_blocks_across(Index width) { return (width + norm_block_cols - 1) / norm_block_cols; }

/// Doubles that absolute_column_sums() takes as workspace.
template <class T>
constexpr Index column_sums_workspace(const TileColumns<T>& a) {
    return norm_blocks_down(a.rows) * a.columns * a.width;
}

/// Doubles that square_sums() takes as workspace.
template <class T>
constexpr Index square_sums_workspace(const TileColumns<T>& a) {
    return norm_blocks_down(a.rows) * norm_blocks_across(a.width) * a.columns * 3;
}

}  // namespace basalt
