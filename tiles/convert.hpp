#pragma once

#include "tiles/grid.hpp"

namespace basalt {

// Conversion between an ordinary strided array and the tile columns, any row range of one tile column at a time. The
// functions run on the calling thread; calls on disjoint row ranges or different tile columns may run at once.
// Transposing is fast if the tile column starts on a cache line (64 bytes) and the tile width fills whole lines; the
// ordinary array may lie anywhere. Instantiated for float and double.
//
// The padded matrix is [A 0; 0 E]: padding rows are 0 in true columns, padding columns are 0 in true rows,
// and E(i, j), the corner where both row i >= m and column j >= n are padding, is 1 where i == j and 0
// elsewhere. A square A thus becomes [A 0; 0 I] as far as the padded rows and columns reach: its factors are
// those of A with an identity below, and a padding row never wins a pivot search against a nonzero. For rectangular A
// the global diagonal may miss the corner, which is then all zero; algorithms take min(m, n) steps and do not reach
// it.

/// Writes rows [row_begin, row_end) of tile column j, padding included, from `source`, the whole matrix
/// (grid.rows() x grid.cols(), any strides; unit stride down or across is fast). `column` is the first
/// element of the tile column. 0 <= row_begin <= row_end <= grid.padded_rows(): rows from grid.rows() on are
/// padding. Throws UsageError where source or range do not fit the grid.
template <class T>
void pack_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                      View<const T> source, T* column);

/// Copies the true rows among [row_begin, row_end) of tile column j into `target`, the whole matrix. The
/// padding is not read and nothing outside the matrix is written. Arguments and errors as for pack.
template <class T>
void unpack_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                        const T* column, View<T> target);

/// Writes the padding among rows [row_begin, row_end) of tile column j and leaves the true elements alone.
template <class T>
void fill_padding(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order, T* column);

}  // namespace basalt
