#pragma once

#include <basalt/device.hpp>

#include "kernels/device_generator.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt::cuda_kernels {

/// Writes whole tile columns `deal` of the grid, padding included (tiles/convert.hpp says what it holds),
/// with the generator's elements, bit for bit those of make_generator(). The generator may be a larger matrix
/// than the grid's. Enqueued; throws DeviceError where that fails. For float and double. CPU twin:
/// kernels/cpu/generate.hpp.
template <class T>
void generate_tile_columns(Stream stream, const GeneratorSpec& generator, const TileGrid& grid, TileDeal deal,
                           TileColumns<T> target);

}  // namespace basalt::cuda_kernels
