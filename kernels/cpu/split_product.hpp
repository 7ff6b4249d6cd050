#pragma once

#include <array>

#include "kernels/split_product.hpp"
#include "tiles/tile_columns.hpp"

/// Single precision by pieces: CPU twin of kernels/cuda/split_product.hpp. Single-threaded, reentrant.
namespace basalt::cpu_kernels {

/// The pieces of a number as kernels/split_product.hpp defines them, each of 8 bits; of one that is infinite or none,
/// the number itself and zeros.
std::array<float, split_pieces> pieces_of(float x);

/// C_j -= L U_j by pieces, in memory of its own.
void update_by_pieces(View<const float> l, TileColumns<const float> u, TileColumns<float> c);

}  // namespace basalt::cpu_kernels
