#pragma once

#include "kernels/triangle.hpp"
#include "runtime/matrix_storage.hpp"

namespace basalt::detail {

/// The grid of a transposed copy: tiles as wide as the matrix's own.
TileGrid transposed_grid(const TileGrid& grid);

/// to = from^T for one triangle of `to`, by the cores, whose memory both go through.
template <class T>
void submit_transposition(Runtime& runtime, const MatrixStorage& from, const MatrixStorage& to, Triangle of_to);

extern template void submit_transposition<float>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);
extern template void submit_transposition<double>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);

}  // namespace basalt::detail
