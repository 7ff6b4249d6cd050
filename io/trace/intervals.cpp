#include "io/trace/intervals.hpp"

#include <algorithm>

namespace basalt {

Intervals united(std::vector<Interval> any) {
    std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    Intervals set;
    for (const Interval& interval : any) {
        if (interval.begin >= interval.end) continue;
        if (!set.empty() && interval.begin <= set.back().end) {
            set.back().end = std::max(set.back().end, interval.end);
        } else {
            set.push_back(interval);
        }
    }
    return set;
}

std::int64_t length(const Intervals& set) {
    std::int64_t sum = 0;
    for (const Interval& interval : set) sum += interval.end - interval.begin;
    return sum;
}

std::int64_t common_length(const Intervals& a, const Intervals& b) {
    std::int64_t sum = 0;
    for (auto p = a.begin(), q = b.begin(); p != a.end() && q != b.end();) {
        sum += std::max<std::int64_t>(0, std::min(p->end, q->end) - std::max(p->begin, q->begin));
        ++(p->end < q->end ? p : q);
    }
    return sum;
}

}  // namespace basalt
