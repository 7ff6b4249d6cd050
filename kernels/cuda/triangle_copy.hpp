#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/triangle.hpp"

/// Between layouts within a device's memory, one triangle alone. CPU twin: kernels/cpu/triangle_copy.hpp.
namespace basalt::cuda_kernels {

/// target(i, j) = source(i, j) for the elements of one triangle: those with i >= j + offset (lower) or i <= j + offset
/// (upper), so that windows of a matrix that do not begin on its diagonal can be named. Equal shapes, each with unit
/// row or column stride, apart. Enqueued on the stream; DeviceError is thrown where that fails. For float and double.
template <class T>
void copy_triangle(Stream stream, Triangle triangle, Index offset, std::type_identity_t<View<const T>> source,
                   View<T> target);

}  // namespace basalt::cuda_kernels
