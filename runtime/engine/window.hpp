#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/engine/waiting.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

/// Bounds the tasks of a scope that are in flight: a submitter that finds the window full helps until there is room.
class Window {
  public:
    /// `tasks` 0: without bounds. `one_place`: place 0 runs all tasks.
    Window(std::size_t tasks, Waiting& waiting, const Progress& progress, bool one_place)
        : tasks_(tasks == 0 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(tasks)),
          waiting_(waiting),
          progress_(progress),
          one_place_(one_place) {}

    /// Returns when the scope may take another task. True if the thread has waited for the program's own graph.
    bool make_room(const Scope& scope) {
        if (scope.owner != nullptr) {
            make_room_inside(scope);
        } else if (scope.counts_outstanding) {
            make_room_in_graph(scope);
        } else if (!has_room(scope, tasks_)) {
            return make_room_outside(scope);
        }
        return false;
    }

  private:
    /// By the number of completed tasks that is known.
    bool has_room(const Scope& root, std::int64_t limit) const {
        const std::uint64_t done = known_completed_.load(std::memory_order_relaxed);
        return static_cast<std::int64_t>(root.submitted.load(std::memory_order_relaxed) - done) < limit;
    }
    void make_room_inside(const Scope& scope);
    /// A submitter that helps goes on only when a quarter of the window is free, or more where no other place runs
    /// tasks, so that helping comes in long stretches.
    std::int64_t low_mark() const { return tasks_ - (tasks_ + 3) / 4; }
    void make_room_in_graph(const Scope& graph);
    bool make_room_outside(const Scope& root);

    const std::int64_t tasks_;
    Waiting& waiting_;
    const Progress& progress_;
    const bool one_place_;
    alignas(64) std::atomic<std::uint64_t> known_completed_{0};  ///< a lower bound of Progress::completed()
};

}  // namespace basalt::detail
