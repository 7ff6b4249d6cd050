#pragma once

#include <type_traits>

#include "tiles/copy.hpp"
#include "tiles/tile_columns.hpp"

/// Copies within one memory: CPU twins of kernels/cuda/copy.hpp. Single-threaded, reentrant. For float and
/// double.
namespace basalt::cpu_kernels {

/// target(i, j) = source(i, j) for two row-major windows of equal shape that do not overlap.
using basalt::copy_elements;

/// The same for each tile column of two groups of equal shape, apart.
template <class T>
void copy_tile_columns(std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target);

}  // namespace basalt::cpu_kernels
