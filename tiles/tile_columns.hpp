#pragma once

#include <type_traits>

#include "tiles/grid.hpp"

namespace basalt {

/// The tile columns of a matrix that a group holds: its l-th one is tile column first + l * step.
struct TileDeal {
    Index first = 0;
    Index step = 1;

    constexpr Index column(Index l) const { return first + l * step; }
};

/// A group of CRRB tile columns at constant stride in one memory, or the same rows or columns of each: the operand of a
/// batched kernel. Each is a row-major array of rows x width; element (i, c) of the l-th lies at
/// data[l * stride + i * ld + c]. Does not own the elements.
template <class T>
struct TileColumns {
    T* data = nullptr;
    Index columns = 0;  ///< tile columns in the group
    Index stride = 0;   ///< elements from one to the next
    Index rows = 0;
    Index width = 0;
    Index ld = 0;  ///< elements from one row to the next; the tile width, unless this is a part of the columns

    constexpr bool empty() const { return columns <= 0 || rows <= 0 || width <= 0; }

    constexpr View<T> column(Index l) const { return View<T>::row_major(data + l * stride, rows, width, ld); }

    /// `count` rows of each, from row `first` on.
    constexpr TileColumns row_range(Index first, Index count) const {
        return {data + first * ld, columns, stride, count, width, ld};
    }

    /// `count` columns of elements of each, from column `first` on.
    constexpr TileColumns col_range(Index first, Index count) const {
        return {data + first, columns, stride, rows, count, ld};
    }

    /// `count` of the tile columns, from the l-th on.
    constexpr TileColumns some(Index l, Index count) const {
        return {data + l * stride, count, stride, rows, width, ld};
    }

    template <class U, class = std::enable_if_t<std::is_same_v<const T, U> && !std::is_const_v<T>>>
    constexpr operator TileColumns<U>() const {  // NOLINT(google-explicit-constructor): adding const is harmless
        return {data, columns, stride, rows, width, ld};
    }
};

/// `columns` whole tile columns of the grid, one behind the other from `data` on.
template <class T>
TileColumns<T> stored_tile_columns(const TileGrid& grid, T* data, Index columns) {
    return {data, columns, grid.tile_column_size(), grid.padded_rows(), grid.shape().width, grid.shape().width};
}

/// `columns` arrays of rows x width, one behind the other from `data` on: a workspace.
template <class T>
constexpr TileColumns<T> dense_tile_columns(T* data, Index columns, Index rows, Index width) {
    return {data, columns, rows * width, rows, width, width};
}

/// A view with unit column stride, as one tile column.
template <class T>
constexpr TileColumns<T> one_tile_column(View<T> view) {
    return {view.data(), 1, 0, view.rows(), view.cols(), view.row_stride()};
}

/// Width without padding of the l-th of the dealt tile columns.
inline Index dealt_width(const TileGrid& grid, TileDeal deal, Index l) { return grid.tile_width(deal.column(l)); }

/// The same for `columns` tile columns together. Only the matrix's last one may be narrower than a tile.
inline Index dealt_cols(const TileGrid& grid, TileDeal deal, Index columns) {
    return columns == 0 ? 0 : (columns - 1) * grid.shape().width + dealt_width(grid, deal, columns - 1);
}

}  // namespace basalt
