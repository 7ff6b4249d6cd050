#include "runtime/execution/neighbours.hpp"

#include <algorithm>
#include <cstddef>

namespace basalt::detail {

namespace {

/// The number of parts of the machine around both.
std::size_t nearness(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    const auto different = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(different.first - a.begin());
}

}  // namespace

Neighbours::Neighbours(const Paths& paths) {
    auto table = std::make_shared<std::vector<std::vector<Group>>>(paths.size());
    for (std::size_t place = 0; place < paths.size(); ++place) {
        std::vector<Group> by_nearness;
        // from the next one on, so that not all steal from the first
        for (std::size_t step = 1; step < paths.size(); ++step) {
            const std::size_t other = (place + step) % paths.size();
            const std::size_t near = nearness(paths[place], paths[other]);
            by_nearness.resize(std::max(by_nearness.size(), near + 1));
            by_nearness[near].push_back(static_cast<std::uint32_t>(other));
        }
        std::reverse(by_nearness.begin(), by_nearness.end());
        std::erase_if(by_nearness, [](const Group& group) { return group.empty(); });
        (*table)[place] = std::move(by_nearness);
    }
    table_ = std::move(table);
}

}  // namespace basalt::detail
