#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "basalt/runtime.hpp"
#include "runtime/graph/device_work.hpp"
#include "runtime/graph/residency.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/task_pool.hpp"
#include "runtime/graph/thread_context.hpp"

namespace basalt::detail {

/// Takes tasks that nothing holds back any more and has them run.
class RunnableTasks {
  public:
    virtual void run(Task& task) = 0;

  protected:
    ~RunnableTasks() = default;
};

/// The tasks in flight: the slots they live in, and the scopes that they are submitted to. Tasks enter it through a
/// TaskBuilder, whether they are the user's, transfers or the runtime's own.
///
/// Life of a task: a TaskBuilder fills a slot and records hazards under the scope's lock; `pending` counts
/// predecessors; the thread that takes it to zero passes the task on; a worker or a device runs it; Completion closes
/// its successor list and releases the successors.
class TaskGraph {
  public:
    explicit TaskGraph(RunnableTasks& runnable);
    TaskGraph(const TaskGraph&) = delete;
    TaskGraph& operator=(const TaskGraph&) = delete;

    /// Level 0: what is submitted outside tasks.
    Scope& root() { return root_; }
    const Scope& root() const { return root_; }
    /// The scope that the calling thread submits to: its task's children, or level 0. Throws UsageError inside a device
    /// kernel.
    Scope& current_scope() {
        const ThreadContext* context = ThreadContext::of(*this);
        if (context == nullptr || context->task() == nullptr) return root_;
        return children_of(*context);
    }
    /// Free slots for the calling thread, which submits to the scope and holds its lock.
    SlotCache& slot_cache(Scope& scope) {
        Worker* worker = ThreadContext::worker_of(*this);
        return worker != nullptr ? worker->cache : *scope.cache;
    }
    /// Deletes a scope whose tasks have all completed; its counts stay.
    void retire(Scope* scope);
    /// Counts of all scopes.
    Statistics statistics();

    /// Nothing holds the task back: it is passed on. Allowed under a scope's lock, which no scheduler or driver takes.
    void run(Task& task) { runnable_.run(task); }

    /// Whether the task has completed; what it wrote is visible then.
    bool completed(TaskRef task) const {
        // acquire: what the task wrote is visible to the thread that learns of its completion
        const std::uint64_t word = pool_.at(task.slot).successors.load(std::memory_order_acquire);
        return Task::generation_of(word) != task.generation;
    }
    /// Whether the task has not completed and uses data on that node.
    bool uses_node(TaskRef task, Node node) const {
        const std::uint8_t used = pool_.at(task.slot).node.load(std::memory_order_relaxed);
        return !completed(task) && (used == node || used == Task::several_nodes);
    }

    TaskPool& pool() { return pool_; }
    DeviceWorkPool& device_works() { return device_works_; }

  private:
    Scope& children_of(const ThreadContext& context);

    TaskPool pool_;
    SlotCache root_cache_;
    RunnableTasks& runnable_;
    std::atomic<std::uint64_t> next_scope_{1};
    Scope root_;
    DeviceWorkPool device_works_;

    std::mutex statistics_lock_;
    Statistics retired_;  ///< counts of scopes that are gone; guarded by statistics_lock_
};

}  // namespace basalt::detail
