#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/runtime/random_graph/work.hpp"

namespace basalt_tests {

/// Marks all elements that a task accesses as in use while it lives, and notices who else uses them.
/// Relaxed counters on purpose: they order nothing, so ThreadSanitizer still sees what the runtime fails to
/// order.
class Guard {
  public:
    Guard(const TaskSpec& task, const std::vector<CellView>& views) {
        for (std::size_t k = 0; k < views.size(); ++k) {
            const bool exclusive = task.accesses[k].mode != basalt::AccessMode::read;
            for (basalt::Index i = 0; i < views[k].rows(); ++i) {
                for (basalt::Index j = 0; j < views[k].cols(); ++j) cells_.emplace_back(&views[k](i, j), exclusive);
            }
        }
        // of an element that is named several times, the strongest mode
        std::sort(cells_.begin(), cells_.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : a.second > b.second;
        });
        const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
        cells_.erase(std::unique(cells_.begin(), cells_.end(), same), cells_.end());
        for (const auto& [cell, exclusive] : cells_) {
            const std::uint32_t before = count(*cell).fetch_add(weight(exclusive), std::memory_order_relaxed);
            violated_ |= exclusive ? before != 0 : before >= weight(true);
        }
    }
    ~Guard() {
        for (const auto& [cell, exclusive] : cells_) {
            count(*cell).fetch_sub(weight(exclusive), std::memory_order_relaxed);
        }
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    /// Whether somebody else used an element in a way that excludes this use.
    bool violated() const { return violated_; }

  private:
    static std::atomic_ref<std::uint32_t> count(Cell& cell) { return std::atomic_ref<std::uint32_t>(cell.guard); }
    static std::uint32_t weight(bool exclusive) { return exclusive ? 0x10000 : 1; }

    std::vector<std::pair<Cell*, bool>> cells_;
    bool violated_ = false;
};

}  // namespace basalt_tests
