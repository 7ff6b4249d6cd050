#pragma once

#include <cstdint>

#include "tiles/generators/lcg.hpp"

namespace basalt::generators {

// The generator of HPL 2.3 (HPL_pdmatgen, HPL_rand): x' = 6364136223846793005 x + 1 (mod 2^64), x_0 = 100.
constexpr AffineMap hpl_step{6364136223846793005U, 1};
constexpr std::uint64_t hpl_start = 100;

/// In (-0.5, 0.5]. With lo and hi the 32-bit halves of x, HPL computes 0.5 - (lo / 2^31 * 0.5 + hi) / 2^31 *
/// 0.5. Scaling by powers of two is exact, so any order of those gives the same bits: one rounding in the
/// sum, one in the subtraction.
constexpr double hpl_value(std::uint64_t x) {
    const auto lo = static_cast<double>(static_cast<std::int64_t>(x & 0xffffffffU));
    const auto hi = static_cast<double>(static_cast<std::int64_t>(x >> 32));
    return 0.5 - (lo * 0x1p-32 + hi) * 0x1p-32;
}

}  // namespace basalt::generators
