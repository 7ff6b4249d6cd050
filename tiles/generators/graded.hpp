#pragma once

#include <bit>
#include <string_view>

#include "tiles/generators/mix.hpp"

namespace basalt::generators {

/// 2^-e for 0 <= e < 1023, exactly.
constexpr double inverse_power_of_two(Index e) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - e) << 52);
}

/// D_m R D_n: random R in [-0.5, 0.5), rows and columns scaled by powers of two that fall evenly from 1 to
/// 2^-25, so that elements span a range of 2^50 from the top left to the bottom right.
struct Graded {
    static constexpr std::string_view name = "graded";
    static constexpr Index steps = 26;
    std::uint64_t seed;
    Index m;
    Index n;

    constexpr double operator()(Index i, Index j) const {
        const double scale = inverse_power_of_two(steps * i / m + steps * j / n);
        return scale * uniform<double>(element_bits(column_key(seed, j), i));
    }
};

}  // namespace basalt::generators
