#pragma once

#include <cstdint>
#include <vector>

namespace basalt {

/// The time from `begin` to `end`, without `end`, in nanoseconds.
struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Sorted intervals: none is empty, and no two touch.
using Intervals = std::vector<Interval>;

/// The union of any intervals. Ignores empty and reversed ones.
Intervals united(std::vector<Interval> any);

std::int64_t length(const Intervals& set);

/// Length of the intersection.
std::int64_t common_length(const Intervals& a, const Intervals& b);

}  // namespace basalt
