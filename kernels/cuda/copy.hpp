#pragma once

#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

namespace basalt::cuda_kernels {

/// target(i, j) = source(i, j) for two row-major windows of equal shape in the device's memory that do not overlap,
/// of any leading dimensions. Enqueued; throws DeviceError where that fails. CPU twin: copy_elements
/// (tiles/copy.hpp). For float and double.
template <class T>
void copy_elements(Stream stream, std::type_identity_t<View<const T>> source, View<T> target);

}  // namespace basalt::cuda_kernels
