#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "basalt/trace.hpp"
#include "runtime/task.hpp"

namespace basalt::detail {

/// Records what ran where and when, a list a place. Off, it costs one load and a branch a task.
/// record() is called by the thread that works the place; take() when nothing is in flight.
class TraceRecorder {
  public:
    explicit TraceRecorder(int rows) : rows_(static_cast<std::size_t>(rows)) {}

    bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
    void start() { enabled_.store(true, std::memory_order_relaxed); }

    static std::int64_t now() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    void record(int row, const Task& task, std::int64_t begin) {
        rows_[static_cast<std::size_t>(row)].events.push_back({task.name, task.tile, task.priority, begin, now()});
    }

    Trace take();

  private:
    struct Event {
        const char* name;
        std::array<int, 3> tile;
        int priority;
        std::int64_t begin;
        std::int64_t end;
    };
    struct alignas(64) Row {
        std::vector<Event> events;
    };
    std::vector<Row> rows_;
    std::atomic<bool> enabled_{false};
};

/// "3,5": the tile indices of a task, as far as they are given.
std::string tile_text(const std::array<int, 3>& tile);

}  // namespace basalt::detail
