#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace basalt {

/// The nearest number of TF32, which has 10 bits behind the point; of two, the larger in magnitude, as the GPU's
/// conversion has it.
inline float rounded_to_tf32(float x) {
    constexpr std::uint32_t exponent = 0x7f800000, dropped = 0x1fff, half = 0x1000;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & exponent) == exponent) return x;  // infinite or not a number
    return std::bit_cast<float>((bits + half) & ~dropped);
}

/// The nearest number of bf16, which has 7 bits behind the point; of two, the even one, but never infinity where x is
/// not.
inline float rounded_to_bf16(float x) {
    constexpr std::uint32_t dropped = 0xffff;
    if (!std::isfinite(x)) return x;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t to_even = (bits >> 16 & 1) + dropped / 2;
    const float nearest = std::bit_cast<float>((bits + to_even) & ~dropped);
    return std::isinf(nearest) ? std::bit_cast<float>(bits & ~dropped) : nearest;
}

/// The nearest number of fp16, which has 10 bits behind the point and a least positive number of 2^-24; of two, the
/// even one. Infinity where x is too large.
inline float rounded_to_fp16(float x) {
    constexpr float least_normal = 0x1p-14F, too_large = 65520;
    constexpr std::uint32_t dropped = 0x1fff;
    if (!std::isfinite(x)) return x;
    if (std::abs(x) >= too_large) return std::copysign(std::numeric_limits<float>::infinity(), x);
    if (std::abs(x) < least_normal) {
        constexpr float aligner = 0.75F;  // numbers in [1/2, 1) are multiples of 2^-24
        const volatile float sum = x + aligner;
        return std::copysign(sum - aligner, x);
    }
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t to_even = (bits >> 13 & 1) + dropped / 2;
    return std::bit_cast<float>((bits + to_even) & ~dropped);
}

}  // namespace basalt
