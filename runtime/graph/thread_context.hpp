#pragma once

#include <cstdint>

#include "runtime/graph/task.hpp"
#include "runtime/graph/worker.hpp"

namespace basalt::detail {

class TaskGraph;

/// What the calling thread is doing for a runtime, for as long as it lives: a stack on the thread's own stack, since
/// a task of one runtime may use another one.
class ThreadContext {
  public:
    /// `worker`: the place that the thread works; nullptr inside a device kernel, a hook or a policy. `task`: nullptr
    /// between tasks. `ended`: the task whose kernel is being destroyed, between tasks; the task itself inside a hook
    /// or policy.
    ThreadContext(TaskGraph& graph, Worker* worker, Task* task, const Task* ended = nullptr)
        : ThreadContext(graph, worker, task, ended, Inside::kernel) {}
    /// Inside a step of the coroutine that is the task.
    static ThreadContext of_coroutine(TaskGraph& graph, Worker& worker, Task& task) {
        return {graph, &worker, &task, nullptr, Inside::coroutine};
    }
    ~ThreadContext() { innermost_ = outer_; }
    ThreadContext(const ThreadContext&) = delete;
    ThreadContext& operator=(const ThreadContext&) = delete;

    Worker* worker() const { return worker_; }
    Task* task() const { return task_; }
    const Task* ended() const { return ended_; }
    /// Inside a device kernel, a hook or a policy, which may not use the runtime.
    bool is_closed() const { return task_ != nullptr && worker_ == nullptr; }
    bool inside_hook() const { return is_closed() && ended_ != nullptr; }
    bool inside_coroutine() const { return inside_ == Inside::coroutine; }
    TaskGraph& graph() const { return *graph_; }

    /// The innermost one of the calling thread, of whatever runtime; nullptr outside of all tasks.
    static const ThreadContext* innermost() { return innermost_; }
    /// The innermost one of the calling thread that belongs to the graph's runtime; nullptr outside of all of it.
    static const ThreadContext* of(const TaskGraph& graph) { return next_of(graph, innermost_); }
    /// The next one outwards that belongs to the same runtime.
    const ThreadContext* outer() const { return next_of(*graph_, outer_); }

    /// The task that the calling thread runs for the runtime; nullptr outside tasks.
    static Task* task_of(const TaskGraph& graph) {
        const ThreadContext* context = of(graph);
        return context != nullptr ? context->task_ : nullptr;
    }
    /// The place that the calling thread works for the runtime; nullptr where it has none.
    static Worker* worker_of(const TaskGraph& graph) {
        const ThreadContext* context = of(graph);
        return context != nullptr ? context->worker_ : nullptr;
    }

  private:
    enum class Inside : std::uint8_t { kernel, coroutine };

    ThreadContext(TaskGraph& graph, Worker* worker, Task* task, const Task* ended, Inside inside)
        : graph_(&graph), worker_(worker), task_(task), ended_(ended), inside_(inside), outer_(innermost_) {
        innermost_ = this;
    }

    static const ThreadContext* next_of(const TaskGraph& graph, const ThreadContext* context) {
        while (context != nullptr && context->graph_ != &graph) context = context->outer_;
        return context;
    }

    TaskGraph* const graph_;
    Worker* const worker_;
    Task* const task_;
    const Task* const ended_;
    const Inside inside_;
    const ThreadContext* const outer_;

    static inline constinit thread_local const ThreadContext* innermost_ = nullptr;
};

}  // namespace basalt::detail
