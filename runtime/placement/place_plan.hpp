#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/graph/residency.hpp"

namespace basalt::detail {

/// A copy that a task waits for.
struct PlannedCopy {
    std::int64_t ready = 0;     ///< when its source has its contents
    std::int64_t duration = 0;  ///< 0: the data are there
    int device = 0;             ///< whose link to the host and to other devices it takes
};

/// When the tasks that have been placed are expected to run: list scheduling, as HEFT does it without insertion
/// (Topcuoglu, Hariri and Wu, IEEE TPDS 13:3, 2002), on processors that run one or more tasks at once.
///
/// Times are nanoseconds of any clock; the caller says what time it is. What happens differs from the plan. So each
/// processor's plan is moved by how much more, or less, it has to do than the plan says, and ends with its last task.
///
/// Under the root scope's lock, except for leave(), which any thread may call.
class PlacePlan {
  public:
    using Time = std::int64_t;

    /// For each node, the cores' first, the tasks that run there at once.
    explicit PlacePlan(const std::vector<int>& at_once);

    /// When the processor can begin another task.
    Time free_at(Node node, Time now);
    /// When all data are there, if the copies begin now or after those that have been planned.
    Time data_at(std::span<const PlannedCopy> copies, Time now) const {
        Links links = links_;
        return arrive(links, copies, now);
    }

    struct Planned {
        Time finish = 0;
        Time share = 0;  ///< of the processor's plan: the task, and the gap before it
    };
    /// The task runs there, behind what is planned, as soon as its data are there.
    Planned add(Node node, std::span<const PlannedCopy> copies, Time duration, Time now);
    /// A task that was added has completed.
    void leave(Node node, Time share) {
        Processor& processor = *processors_[static_cast<std::size_t>(node)];
        // relaxed: an estimate, and nothing is reached through it
        processor.left.fetch_sub(share, std::memory_order_relaxed);
        processor.queued.fetch_sub(1, std::memory_order_relaxed);
    }
    /// Tasks that have been added and have not left.
    std::size_t queued(Node node) const {
        return processors_[static_cast<std::size_t>(node)]->queued.load(std::memory_order_relaxed);
    }
    int at_once(Node node) const { return static_cast<int>(processors_[static_cast<std::size_t>(node)]->lanes.size()); }
    /// Whether nothing is in flight: then whatever was expected of it has happened.
    bool idle() const;

  private:
    using Links = std::array<Time, max_nodes>;
    /// On lines of their own: threads that complete tasks write to `left` and `queued`.
    struct alignas(64) Processor {
        std::vector<Time> lanes;                ///< when each worker or stream is through
        alignas(64) std::atomic<Time> left{0};  ///< sum of the shares
        std::atomic<std::size_t> queued{0};
    };

    static Time arrive(Links& links, std::span<const PlannedCopy> copies, Time now);
    void settle(Processor& processor, Time now) const;

    std::vector<std::unique_ptr<Processor>> processors_;  ///< by node
    Links links_{};                                       ///< by device: when its link is through
};

}  // namespace basalt::detail
