#pragma once

#include "kernels/triangle.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

/// The grid of a transposed copy, with tiles of the same width.
TileGrid transposed_grid(const TileGrid& grid);

/// to = from^T for one triangle of `to`, on the cores: both matrices pass through the host's memory.
template <class T>
void submit_transposition(Runtime& runtime, const MatrixStorage& from, const MatrixStorage& to, Triangle of_to);

extern template void submit_transposition<float>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);
extern template void submit_transposition<double>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);

}  // namespace basalt::detail
