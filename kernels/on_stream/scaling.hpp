#pragma once

#include <cstdint>

#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"
#include "kernels/powers_of_two.hpp"

/// Columns of a matrix multiplied by powers of two and back. Nothing is rounded, unless numbers leave the range of
/// floats. All arguments lie in the device's memory.
namespace basalt::on_stream {

/// The exponent of a column's largest element, where this is so far from 1 that the column is scaled, otherwise 0.
BASALT_DEVICE int column_exponent(float largest) {
    constexpr int near = 4;
    if (largest == 0) return 0;
    const int exponent = exponent_of(largest);
    return exponent >= -near && exponent < near ? 0 : exponent;
}

struct LargestInColumns : Kernel<LargestInColumns, void(View<const float> a, View<float> largest)> {};
/// largest(j) = max_i |a_ij| of the finite elements of a row-major matrix; 0 where there are none.
inline constexpr LargestInColumns largest_in_columns{};

/// Which elements scale_columns() takes, and by which power.
enum class ColumnScaling : std::uint8_t {
    to_one,      ///< all elements, divided by 2^column_exponent(largest(j))
    back_above,  ///< multiplied by it: the elements on the diagonal and above it
};

struct ScaleColumns
    : Kernel<ScaleColumns, void(View<float> a, Index diagonal, View<const float> largest, ColumnScaling scaling)> {};
/// Scales the columns of a row-major matrix, whose diagonal passes through a(i, i + diagonal). Columns whose largest
/// element is near 1 are not read.
inline constexpr ScaleColumns scale_columns{};

}  // namespace basalt::on_stream
