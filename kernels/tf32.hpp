#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace basalt {

/// How the products of single precision matrices are made.
enum class ProductPrecision : std::uint8_t {
    full,
    tf32,  ///< operands are rounded to TF32, which has 10 bits behind the point; sums are in single precision
};

/// Unit roundoff of TF32.
inline constexpr double tf32_roundoff = 0x1p-11;

/// The nearest number of TF32; of two, the larger in magnitude, as the GPU's conversion has it.
inline float rounded_to_tf32(float x) {
    constexpr std::uint32_t exponent = 0x7f800000, dropped = 0x1fff, half = 0x1000;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & exponent) == exponent) return x;  // infinite or not a number
    return std::bit_cast<float>((bits + half) & ~dropped);
}

}  // namespace basalt
