#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/common/device_code.hpp"

/// Powers of two as factors of floats: multiplying by them rounds nothing, unless a number leaves the range of floats.
/// For the host and for GPUs.
namespace basalt {

/// The exponent of a finite x >= 0: 2^exponent <= x < 2^(exponent + 1). That of the smallest normal number for all
/// below.
BASALT_DEVICE int exponent_of(float x) {
    const int biased = static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23);
    return (biased > 1 ? biased : 1) - 127;
}

/// 2^exponent, for -126 <= exponent <= 127.
BASALT_DEVICE float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

/// x 2^exponent, for -252 <= exponent <= 254, in two steps, since a float does not hold all these powers.
BASALT_DEVICE float times_power_of_two(float x, int exponent) {
    const int half = exponent / 2;
    return x * power_of_two(half) * power_of_two(exponent - half);
}

}  // namespace basalt
