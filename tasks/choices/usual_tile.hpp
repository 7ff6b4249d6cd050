#pragma once

#include <basalt/tile_shape.hpp>
#include <basalt/tuning.hpp>

namespace basalt::detail {

/// The tiles that the tables name for LU of an m x n matrix, whatever its edges leave of the last ones.
TileShape table_tile(const Tuning& tuning, Index m, Index n, int gpus);

/// Tiles for an m x n matrix on `gpus` GPUs where nothing says how it is used: those of the tables for LU, which suit
/// the other factorizations too. `resident`: see default_lu_tile().
TileShape usual_tile(const Tuning& tuning, Index m, Index n, int gpus, bool resident = false);

}  // namespace basalt::detail
