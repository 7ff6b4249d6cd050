#pragma once

#include <algorithm>
#include <string_view>

#include "tiles/generators/mix.hpp"

namespace basalt::generators {

/// Symmetric: random in [-0.5, 0.5) off the diagonal and `order` = max(m, n) on it. Each Gershgorin disc lies
/// right of order / 2, so the square matrix is positive definite, with a condition number below 3.
struct Spd {
    static constexpr std::string_view name = "spd";
    std::uint64_t seed;
    double order;

    constexpr double operator()(Index i, Index j) const {
        if (i == j) return order;
        return uniform<double>(element_bits(column_key(seed, std::min(i, j)), std::max(i, j)));
    }
};

}  // namespace basalt::generators
