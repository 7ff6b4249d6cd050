#pragma once

#include <cstdint>
#include <queue>
#include <set>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// A task whose predecessors are enqueued or have completed.
struct ReadyForDevice {
    int priority;
    std::uint64_t number;  ///< of arrival: first come, first served among equals
    Task* task;

    bool operator<(const ReadyForDevice& other) const {
        return priority != other.priority ? priority < other.priority : number > other.number;
    }
};

/// The best one is on top.
using ReadyQueue = std::priority_queue<ReadyForDevice>;

/// Copies without priority that are enqueued only when what they wait for has completed. A stream runs them in the
/// order in which they are enqueued, and kernels are enqueued long before they run: a copy behind one of these would
/// hold up all copies behind it.
///
/// Used by the driver's thread alone.
class WaitingCopies {
  public:
    void add(const ReadyForDevice& copy) {
        copies_.insert(copy);
        changed_ = true;
    }
    /// Something on the device has completed.
    void look_again() { changed_ = true; }
    /// The best copy for which may_run(task) holds; nullptr where there is none.
    template <class MayRun>
    Task* take(const MayRun& may_run) {
        if (!changed_) return nullptr;
        for (auto copy = copies_.rbegin(); copy != copies_.rend(); ++copy) {
            if (!may_run(*copy->task)) continue;
            Task* const task = copy->task;
            copies_.erase(std::next(copy).base());
            return task;
        }
        changed_ = false;
        return nullptr;
    }

  private:
    std::set<ReadyForDevice> copies_;
    bool changed_ = false;  ///< since there was none that may run
};

}  // namespace basalt::detail
