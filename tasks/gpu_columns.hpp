#pragma once

#include <cstddef>

#include "tiles/tile_columns.hpp"

namespace basalt::detail {

/// Tile columns [first, last) that are on the GPUs together.
struct ColumnGroup {
    Index first;
    Index last;
};

/// Columns [col_begin, col_end) of a tile column.
struct Columns {
    Index tile_column;
    Index col_begin;
    Index col_end;
};

/// A GPU's part of a step's update: its tile columns, the first of them perhaps not from its first column on.
template <class T>
struct GpuColumns {
    Index rows;       ///< of the matrix
    Index width;      ///< of a tile column
    Index col_begin;  ///< where the first one starts
    Index col_end;    ///< where it ends, if it is the only one

    /// visit(columns) for groups at constant stride, in order. `at`: addresses of the tile columns' first elements.
    template <class F>
    void for_each_group(void* const* at, std::size_t count, const F& visit) const {
        std::size_t first = 0;
        const bool partial = col_begin > 0 || col_end < width;
        if (partial && count > 0) {
            T* const begin = static_cast<T*>(at[0]) + col_begin;
            visit(TileColumns<T>{begin, 1, rows * width, rows, col_end - col_begin, width});
            first = 1;
        }
        while (first < count) {
            std::size_t last = first + 1;
            const auto address = [&](std::size_t i) { return static_cast<T*>(at[i]); };
            const Index stride = last < count ? address(last) - address(first) : rows * width;
            while (stride > 0 && last < count && address(last) - address(last - 1) == stride) ++last;
            visit(TileColumns<T>{address(first), static_cast<Index>(last - first), stride, rows, width, width});
            first = last;
        }
    }
};

}  // namespace basalt::detail
