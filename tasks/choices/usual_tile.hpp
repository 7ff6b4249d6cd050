#pragma once

#include <basalt/tile_shape.hpp>
#include <basalt/tuning.hpp>

namespace basalt::detail {

/// Tiles for an m x n matrix on `gpus` GPUs where nothing says how it is used: those of the tables for LU, which suit
/// the other factorizations too. `on_gpus`: see default_lu_tile().
TileShape usual_tile(const Tuning& tuning, Index m, Index n, int gpus, bool on_gpus = false);

}  // namespace basalt::detail
