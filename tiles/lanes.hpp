#pragma once

#include <cstddef>

#include <basalt/view.hpp>

namespace basalt::detail {

/// Partial results that a loop over doubles keeps: steps one after the other are independent, and it is compiled to
/// vectors.
inline constexpr Index loop_lanes = 8;

/// step(lane, i) for i = 0 .. n - 1. The caller keeps a partial result for each lane, from 0 to loop_lanes - 1.
template <class Step>
void in_lanes(Index n, const Step& step) {
    Index i = 0;
    for (; i + loop_lanes <= n; i += loop_lanes) {
        for (Index lane = 0; lane < loop_lanes; ++lane) step(static_cast<std::size_t>(lane), i + lane);
    }
    for (; i < n; ++i) step(0, i);
}

/// std::max() by value, which compilers make vectors of. A NaN in `y` is left out.
constexpr double larger(double x, double y) { return x < y ? y : x; }

}  // namespace basalt::detail
