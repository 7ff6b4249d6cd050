#pragma once

#include <type_traits>

#include "kernels/triangle.hpp"

/// Between layouts, one triangle alone: CPU twin of kernels/cuda/triangle_copy.hpp. Single-threaded, reentrant.
namespace basalt::cpu_kernels {

/// target(i, j) = source(i, j) for the elements of one triangle: those with i >= j + offset (lower) or i <= j + offset
/// (upper). Equal shapes, any strides, apart. For float and double.
template <class T>
void copy_triangle(Triangle triangle, Index offset, std::type_identity_t<View<const T>> source, View<T> target);

}  // namespace basalt::cpu_kernels
