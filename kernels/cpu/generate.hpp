#pragma once

#include "kernels/device_generator.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt::cpu_kernels {

/// Writes whole tile columns `deal` of the grid, padding included (tiles/convert.hpp says what it holds),
/// with the generator's elements, which may be a larger matrix than the grid's. CPU twin of
/// kernels/cuda/generate.hpp. Single-threaded, reentrant. For float and double.
template <class T>
void generate_tile_columns(const GeneratorSpec& generator, const TileGrid& grid, TileDeal deal, TileColumns<T> target);

}  // namespace basalt::cpu_kernels
