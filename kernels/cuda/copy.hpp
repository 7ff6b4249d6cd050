#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "tiles/tile_columns.hpp"

/// Copies within a device's memory. Enqueued on the stream; DeviceError is thrown where that fails. For float
/// and double. CPU twins: kernels/cpu/copy.hpp.
namespace basalt::cuda_kernels {

/// target(i, j) = source(i, j) for two row-major windows of equal shape that do not overlap.
template <class T>
void copy_elements(Stream stream, std::type_identity_t<View<const T>> source, View<T> target);

/// The same for each tile column of two groups of equal shape, apart.
template <class T>
void copy_tile_columns(Stream stream, std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target);

}  // namespace basalt::cuda_kernels
