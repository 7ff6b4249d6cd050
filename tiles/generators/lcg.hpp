#pragma once

#include <cstdint>

namespace basalt::generators {

/// The map x -> a x + c (mod 2^64). Steps of a linear congruential generator compose to such maps. So k steps ahead
/// cost 2 log2(k) compositions.
struct AffineMap {
    std::uint64_t a = 1;
    std::uint64_t c = 0;

    constexpr std::uint64_t operator()(std::uint64_t x) const { return a * x + c; }

    /// First this map, then `next`.
    constexpr AffineMap then(AffineMap next) const { return {next.a * a, next.a * c + next.c}; }

    /// This map k times.
    constexpr AffineMap power(std::uint64_t k) const {
        AffineMap result;
        for (AffineMap square = *this; k != 0; k >>= 1, square = square.then(square)) {
            if ((k & 1) != 0) result = result.then(square);
        }
        return result;
    }
};

}  // namespace basalt::generators
