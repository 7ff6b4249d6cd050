#pragma once

#include <memory>

#include "runtime/matrix_storage.hpp"

/// A column-major array in a GPU's memory whose memory serves as tile columns there: for Matrix::wrap().
///
/// A tile column takes no more elements than its columns have in the array. Each is converted into the place in front
/// of its own, the first one into memory of the runtime's, so one tile column more is all that is needed, and each
/// element is read and written once; the way back goes from the last to the first. Tiles are as high as the array's
/// leading dimension: what lies below the matrix moves along and comes back.
namespace basalt::detail {

/// Width of tile columns of which one is little beside the matrix, wide enough for the factorization of an m x n
/// matrix.
Index in_place_tile_width(const Tuning& tuning, Index m, Index n, int gpus);

/// Submits the conversion of `a`, of leading dimension storage.grid().shape().height, and arranges for the way back by
/// the next wait(). Throws UsageError inside a task, DeviceError where the GPU has no memory for a tile column.
template <class T>
void wrap_on_gpu(const std::shared_ptr<MatrixStorage>& storage, T* a, int gpu);

}  // namespace basalt::detail
