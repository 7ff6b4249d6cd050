#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/hooks.hpp"
#include "basalt/runtime.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/observe/task_times.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt::detail {

/// Tells those who asked for it what runs: the trace, the user's hooks, the statistics by name and the watchdog. Where
/// there are no observers, a task pays for one load and a branch.
///
/// Members are called by the thread that runs the task, with the place or driver that it works.
class Observers {
  public:
    Observers(TaskGraph& graph, TraceRecorder& trace, const Config& config, int gpus);

    /// Whether anybody observes. Relaxed: who is told late misses a task that is running.
    bool any() const { return on_.load(std::memory_order_relaxed); }
    /// The runtime is left behind, see ProcessMark: no task of the user's begins any more.
    void leave() {
        left_.store(true, std::memory_order_release);  // who sees it sees why
        on_.store(true, std::memory_order_relaxed);
    }
    bool left() const { return left_.load(std::memory_order_acquire); }
    /// A kernel has returned. Ends a child process that a task forked: it cannot go on with the parent's tasks.
    void kernel_returned(const Task& task) const {
        if (any() && left()) [[unlikely]]
            end_child(task);
    }

    /// From now on there is a trace.
    void start_trace() {
        trace_.start();
        on_.store(true, std::memory_order_relaxed);
    }

    /// What is kept of a task on the stack of the thread that runs it.
    struct Run {
        std::int64_t begin = 0;
        std::int64_t outer_inside = 0;  ///< see Worker::inside_ns
        std::uint64_t outer_task = 0;   ///< what the thread ran before, see Worker::running_task
        std::int64_t outer_since = 0;
    };
    /// The task's kernel is about to run. Throws what the hook throws.
    void started(Task& task, Worker& worker, Run& run);
    /// The kernel has returned or thrown. Throws what the hook throws.
    void ended(Task& task, Worker& worker, const Run& run, TaskEnd end);

    /// The same for a member of a gang: a bar of the trace, as each of them has one.
    std::int64_t member_started() const { return trace_.enabled() ? TraceRecorder::now() : 0; }
    void member_ended(const Task& task, const Worker& worker, std::int64_t begin) {
        if (begin != 0) trace_.record(worker.place, task, begin);
    }

    /// The task does not run. By any thread.
    void cancelled(const Task& task) {
        if (statistics_) dropped_.add_cancelled(task.name);
    }

    /// The device's times of tasks are wanted.
    bool times_devices() const { return trace_.enabled() || statistics_; }
    /// The task is about to be enqueued. Throws what the hook throws.
    void device_started(Task& task, int device);
    /// The task has left the device. `ns`: how long it took there. Throws what the hook throws.
    void device_ended(Task& task, int device, std::int64_t ns, TaskEnd end);

    /// Tasks by name, in alphabetical order.
    std::vector<TaskStatistics> by_name() const;

    TraceRecorder& trace() { return trace_; }

  private:
    using HookCall = void (TaskHooks::*)(const TaskInfo&);
    static void end_child(const Task& task);
    void call(HookCall function, Task& task, const TaskInfo& info) const;

    TaskGraph& graph_;
    TraceRecorder& trace_;
    const std::shared_ptr<TaskHooks> hooks_;
    const bool statistics_;
    std::atomic<bool> on_;
    std::atomic<bool> left_{false};
    std::vector<TaskTimes> places_;
    std::vector<TaskTimes> devices_;
    TaskTimes dropped_;
};

}  // namespace basalt::detail
