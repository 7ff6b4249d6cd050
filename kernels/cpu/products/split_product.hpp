#pragma once

#include <array>

#include "kernels/split_product.hpp"

/// Slices of single numbers, on cores.
namespace basalt::cpu_kernels {

/// The nearest number of a slice's format.
float rounded_slice(float x, SliceFormat format);

/// The slices of a number as kernels/split_product.hpp defines them, and zeros. For infinity and NaN: the number itself
/// and zeros.
std::array<float, split_slices> slices_of(float x, const Slicing& slicing);

}  // namespace basalt::cpu_kernels
