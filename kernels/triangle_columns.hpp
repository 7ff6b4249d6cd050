#pragma once

#include "tiles/tile_columns.hpp"

namespace basalt {

/// A triangle, square, whose tile columns lie anywhere in one device's memory, with the inverses of the blocks of order
/// substituted_block on its diagonal. Does not own them.
template <class T>
struct TriangleColumns {
    /// Tile columns at most: their addresses are arguments of a kernel, of 4 kB together.
    static constexpr int most = 200;

    Index order = 0;
    Index width = 0;               ///< of a tile column; the last one may have fewer columns of the triangle
    Index ld = 0;                  ///< elements from one row to the next
    const T* columns[most] = {};   ///< row 0 of each tile column, row-major
    const T* inverses[most] = {};  ///< of its blocks, one below the other, as invert_diagonal_blocks() makes them
};

}  // namespace basalt
