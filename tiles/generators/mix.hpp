#pragma once

#include <cstdint>
#include <type_traits>

#include <basalt/view.hpp>

namespace basalt::generators {

// Random numbers by counting: element (i, j) of a matrix with a given seed is a function of the three, independent of
// all other elements. Each column is a stream of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014), which mixes the successive multiples of an odd constant; the
// columns' starting points are drawn from a SplitMix64 of their own.

constexpr std::uint64_t golden_step = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, made odd

/// SplitMix64's mixing function (variant 13 of Stafford's finalisers of MurmurHash3): a bijection.
constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// Where column j's stream starts.
constexpr std::uint64_t column_key(std::uint64_t seed, Index j) {
    return mix(mix(seed + golden_step) + golden_step * (static_cast<std::uint64_t>(j) + 1));
}

/// 64 random bits for row i of the column with that key.
constexpr std::uint64_t element_bits(std::uint64_t key, Index i) {
    return mix(key + golden_step * (static_cast<std::uint64_t>(i) + 1));
}

/// Uniform in [-0.5, 0.5), exactly: from the top 53 bits for double, 24 for float (which is thus the double
/// rounded down, so that 0.5 cannot appear).
template <class T>
constexpr T uniform(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, float>) {
        return static_cast<float>(static_cast<std::int64_t>(bits >> 40)) * 0x1p-24F - 0.5F;
    } else {
        return static_cast<double>(static_cast<std::int64_t>(bits >> 11)) * 0x1p-53 - 0.5;
    }
}

}  // namespace basalt::generators
