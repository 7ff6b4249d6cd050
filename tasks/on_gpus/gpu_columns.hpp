#pragma once

#include <cstddef>

#include "tiles/tile_columns.hpp"

namespace basalt::detail {

/// Tile columns [first, last), on the GPUs at the same time.
struct ColumnGroup {
    Index first;
    Index last;
};

/// A GPU's part of a step: some of its tile columns. The first and the last may be parts of tile columns.
template <class T>
struct GpuColumns {
    Index rows;       ///< of the matrix
    Index width;      ///< of a tile column
    Index col_begin;  ///< first column of the first tile column
    Index col_end;    ///< end in the last tile column

    /// visit(columns) for groups at constant stride, in order. `at`: the addresses of the tile columns.
    template <class F>
    void for_each_group(void* const* at, std::size_t count, const F& visit) const {
        const auto address = [&](std::size_t i) { return static_cast<T*>(at[i]); };
        const auto begin_of = [&](std::size_t i) { return i == 0 ? col_begin : 0; };
        const auto end_of = [&](std::size_t i) { return i + 1 == count ? col_end : width; };
        const auto whole = [&](std::size_t i) { return begin_of(i) == 0 && end_of(i) == width; };
        for (std::size_t first = 0, last = 0; first < count; first = last) {
            last = first + 1;
            const bool extends = whole(first) && last < count && whole(last);
            const Index stride = extends ? address(last) - address(first) : rows * width;
            while (extends && stride > 0 && last < count && whole(last) && address(last) - address(last - 1) == stride)
                ++last;
            visit(TileColumns<T>{address(first) + begin_of(first), static_cast<Index>(last - first), stride, rows,
                                 end_of(first) - begin_of(first), width});
        }
    }
};

}  // namespace basalt::detail
