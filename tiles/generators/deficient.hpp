#pragma once

#include <string_view>

#include "tiles/generators/mix.hpp"

namespace basalt::generators {

/// Rank floor(min(m, n) / 2) = r, exactly: r independent random columns, multiples of 2^-10 in [-1, 1), then
/// sums of two of these, column j = column (j mod r) + column (j + 1 mod r). All elements are exact in float.
struct Deficient {
    static constexpr std::string_view name = "deficient";
    std::uint64_t seed;
    Index rank;

    constexpr double operator()(Index i, Index j) const {
        if (rank == 0) return 0;
        return j < rank ? base(i, j) : base(i, j % rank) + base(i, (j + 1) % rank);
    }

    constexpr double base(Index i, Index j) const {
        const auto eleven_bits = static_cast<std::int64_t>(element_bits(column_key(seed, j), i) >> 53);
        return static_cast<double>(eleven_bits - 1024) * 0x1p-10;
    }
};

}  // namespace basalt::generators
