#pragma once

#include <memory>

#include "runtime/storage/matrix_storage.hpp"

/// A column-major array in a GPU's memory that becomes the memory of tile columns: for Matrix::wrap().
///
/// A tile column has as many elements as its columns have in the array. Each tile column is converted to the place of
/// its left neighbour, and the first one to memory of the runtime. So only one more tile column is needed, and each
/// element is read and written once. The way back goes from the last tile column to the first. Tiles are as high as the
/// array's leading dimension: elements below the matrix move along and come back.
namespace basalt::detail {

/// A tile width that is good for factoring an m x n matrix, and small enough that one more tile column takes little
/// memory.
Index in_place_tile_width(const Tuning& tuning, Index m, Index n, int gpus);

/// Submits the conversion of `a`, whose leading dimension is storage.grid().shape().height. The next wait() converts it
/// back. Throws UsageError inside a task, and DeviceError where the GPU has no memory for a tile column.
template <class T>
void wrap_on_gpu(const std::shared_ptr<MatrixStorage>& storage, T* a, int gpu);

}  // namespace basalt::detail
