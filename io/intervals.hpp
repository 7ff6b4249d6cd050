#pragma once

#include <cstdint>
#include <vector>

namespace basalt {

/// A stretch of time, `end` excluded, in nanoseconds.
struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Sorted intervals of which no two touch and none is empty.
using Intervals = std::vector<Interval>;

/// The union of any intervals; empty and reversed ones count as nothing.
Intervals united(std::vector<Interval> any);

std::int64_t length(const Intervals& set);

/// Length of the intersection.
std::int64_t common_length(const Intervals& a, const Intervals& b);

}  // namespace basalt
