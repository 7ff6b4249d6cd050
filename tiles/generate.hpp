#pragma once

#include <basalt/generator.hpp>

#include "tiles/grid.hpp"

namespace basalt {

/// Writes the elements of `generator` to rows [row_begin, row_end) of tile column j, padding included (see
/// tiles/convert.hpp for its values). The generator may be larger than the grid; then the leading part is taken. 0 <=
/// row_begin <= row_end <= grid.padded_rows(). Calls on disjoint row ranges may run at once. Throws UsageError where
/// generator or range do not fit the grid. For float and double.
template <class T>
void generate_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                          const Generator<T>& generator, T* column);

}  // namespace basalt
