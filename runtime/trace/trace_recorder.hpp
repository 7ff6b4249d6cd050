#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "basalt/trace.hpp"
#include "runtime/device/stream_points.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

class TaskGraph;

/// A state of a thread block of a panel kernel, from begin to end in nanoseconds of std::chrono::steady_clock.
struct BlockState {
    int block;
    const char* name;
    std::int64_t begin;
    std::int64_t end;
};

/// Records what ran where and when: a list for each place, then one for each stream of each device. When off, it
/// costs one load and a branch a task. record() is called by the thread that works the place, record_device() and
/// record_blocks() by any; take() when nothing is in flight.
class TraceRecorder {
  public:
    /// The last place is that of the spare threads.
    TraceRecorder(const TaskGraph& graph, int places, int devices)
        : graph_(graph),
          places_(static_cast<std::size_t>(places)),
          rows_(places_ + static_cast<std::size_t>(devices * stream_roles)) {}
    ~TraceRecorder();
    TraceRecorder(const TraceRecorder&) = delete;
    TraceRecorder& operator=(const TraceRecorder&) = delete;

    bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
    void start();
    /// Whether it records the tasks of that graph.
    bool is_of(const TaskGraph& graph) const { return &graph_ == &graph; }

    /// A number for a task that no other task in flight has; 0 stands for none.
    static std::uint64_t id_of(const Task& task);

    static std::int64_t now() {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    void record(int place, const Task& task, std::int64_t begin) {
        Row& row = rows_[static_cast<std::size_t>(place)];
        std::unique_lock guard(row.lock, std::defer_lock);
        if (static_cast<std::size_t>(place) + 1 == places_) guard.lock();
        row.events.push_back(Event(task, begin, now()));
    }
    /// Records a span of the task on a device, from `begin` to `end`.
    void record_device(const Task& task, const StreamSpan& span, std::int64_t begin, std::int64_t end);

    /// Records the blocks of a step's panel on a device. Each block gets a row of the trace.
    void record_blocks(int device, int step, const std::vector<BlockState>& states);

    /// Records a span of the calling thread, which works the place, if it works one. By any thread.
    void record_span(std::optional<int> place, const char* name, std::int64_t begin, std::int64_t end);
    void record_counter(const char* name, std::int64_t time, double value);

    Trace take();

  private:
    struct Event {
        Event(const Task& task, std::int64_t begin, std::int64_t end);

        const char* name;
        TileIndex tile;
        int priority;
        PackedStep step;
        std::int64_t begin;
        std::int64_t end;
        std::int64_t bytes = 0;
        bool is_part = false;  // see StreamSpan, like target
        std::optional<int> target;
        std::uint64_t id;
        std::array<std::uint64_t, Task::recorded_predecessors> after{};  // ids, with Task::in_part
        std::uint8_t predecessors = 0;
    };
    struct alignas(64) Row {
        std::mutex lock;  // for rows that several threads write: of devices (broadcasts), and of the spare threads
        std::vector<Event> events;
    };
    /// A bar of a broadcast.
    struct Part {
        std::uint64_t id;
        std::optional<int> device;  // whose row it is on
        std::optional<int> target;
    };
    using PartsOfTasks = std::unordered_map<std::uint64_t, std::vector<Part>>;
    struct BlockEvent {
        int device;
        int step;
        BlockState state;
    };
    struct UserSpan {
        const char* name;
        std::optional<int> place;
        std::thread::id thread;
        std::int64_t begin;
        std::int64_t end;
    };
    struct UserCounter {
        const char* name;
        std::int64_t time;
        double value;
    };
    TraceRow heading(std::size_t index) const;
    PartsOfTasks tell_parts_apart();
    static std::vector<std::uint64_t> waited_for(const Event& event, std::optional<int> device,
                                                 const PartsOfTasks& parts);
    void take_row(std::size_t index, const PartsOfTasks& parts, Trace& trace);
    void take_blocks(Trace& trace);
    void take_spans(Trace& trace);

    const TaskGraph& graph_;
    const std::size_t places_;
    std::vector<Row> rows_;
    std::atomic<bool> enabled_{false};
    std::mutex blocks_lock_;
    std::vector<BlockEvent> blocks_;  ///< guarded by blocks_lock_
    std::mutex spans_lock_;
    std::vector<UserSpan> spans_;  ///< guarded by spans_lock_, like counters_
    std::vector<UserCounter> counters_;
};

}  // namespace basalt::detail
