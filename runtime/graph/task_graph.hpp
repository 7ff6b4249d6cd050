#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "runtime/graph/device_work.hpp"
#include "runtime/graph/outcomes.hpp"
#include "runtime/graph/residency.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/task_pool.hpp"
#include "runtime/graph/thread_context.hpp"
#include "runtime/graph/unwritten.hpp"

namespace basalt::detail {

/// Takes tasks that nothing holds back any more and has them run.
class RunnableTasks {
  public:
    virtual void run(Task& task) = 0;

  protected:
    ~RunnableTasks() = default;
};

/// What a task in flight waits for, or has come to.
enum class TaskStage : std::uint8_t {
    waits_for_tasks,
    on_device,     ///< its driver has it
    has_children,  ///< it has begun, or waits for them to end
    ready,         ///< or it runs
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

    /// The runtime's own graph.
    Scope& root() { return root_; }
    const Scope& root() const { return root_; }
    /// A graph that no wait() waits for: nodes of the runtime's own that stand for tasks of several graphs. Otherwise a
    /// graph would wait for tasks of others on which it does not depend.
    Scope& housekeeping() { return housekeeping_; }
    const Scope& housekeeping() const { return housekeeping_; }
    /// The scope for such a node of a task of `scope`.
    Scope& housekeeping_of(Scope& scope) { return scope.owner == nullptr ? housekeeping_ : scope; }
    /// The scope that the calling thread submits to: its task's children, or a graph. Throws UsageError inside a device
    /// kernel.
    Scope& current_scope() {
        const ThreadContext* context = ThreadContext::of(*this);
        if (context == nullptr || context->task() == nullptr) return target();
        return children_of(*context);
    }
    /// The graph that the calling thread works for: its task's, or where it submits to.
    Scope& current_graph() {
        const Task* task = ThreadContext::task_of(*this);
        return task != nullptr ? task->scope->graph : target();
    }
    /// Throws UsageError where the context is that of a device kernel or a hook.
    static void refuse_where_closed(const ThreadContext& context);
    /// What records the calling thread's submissions; nullptr: nothing does. A task's children are never recorded.
    Recorder* recorder() const {
        Recorder* recorder = SubmissionTarget::recorder_of(*this);
        return recorder == nullptr || ThreadContext::task_of(*this) != nullptr ? nullptr : recorder;
    }
    /// Throws UsageError where the calling thread records tasks: `what` would not be part of the recording.
    void refuse_while_recording(const char* what) const;
    /// Free slots for the calling thread, which submits to the scope and holds its order's lock.
    SlotCache& slot_cache(Scope& scope) {
        Worker* worker = ThreadContext::worker_of(*this);
        return worker != nullptr ? worker->cache : *scope.order.cache;
    }
    /// Deletes a scope whose tasks have all completed; its counts stay.
    void retire(Scope* scope);
    /// Counts of all scopes.
    Statistics statistics();

    /// The task enters the scope: it is in flight from now on. Under the order's lock.
    void count_entered(Scope& scope) {
        if (!scope.counts_outstanding) {
            // release: a thread that reads the count and finds nothing in flight also sees what led to that
            scope.submitted.store(scope.submitted.load(std::memory_order_relaxed) + 1, std::memory_order_release);
            return;
        }
        const bool first = scope.outstanding.fetch_add(1, std::memory_order_relaxed) == 1;
        if (scope.owner != nullptr) return;
        if (first) busy_graphs_.fetch_add(1, std::memory_order_relaxed);  // before any other thread learns of the task
        submitted_to_graphs_.store(submitted_to_graphs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// The task will not enter after all. Under the order's lock.
    void take_back_count(Scope& scope) {
        if (!scope.counts_outstanding) {
            scope.submitted.store(scope.submitted.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        } else {
            count_left(scope);
        }
    }
    /// A task of a scope that counts them has completed. Returns how many are left, with the one that the scope counts
    /// from its beginning.
    std::int64_t count_left(Scope& scope) {
        const bool is_graph = scope.owner == nullptr;
        // acq_rel: the thread that finds nothing left has seen all that the tasks wrote. The scope may be gone then.
        const std::int64_t left = scope.outstanding.fetch_sub(1, std::memory_order_acq_rel) - 1;
        if (left == 1 && is_graph) busy_graphs_.fetch_sub(1, std::memory_order_release);
        return left;
    }
    /// Tasks submitted to all graphs so far, about.
    std::uint64_t submitted() const {
        return root_.submitted.load(std::memory_order_relaxed) + submitted_to_graphs_.load(std::memory_order_relaxed) +
               kept_out();
    }
    /// Counts a task of the user's that runs without entering the graph. By the thread that works place 0.
    void count_kept_out() { kept_out_.store(kept_out() + 1, std::memory_order_relaxed); }
    std::uint64_t kept_out() const { return kept_out_.load(std::memory_order_relaxed); }
    /// Graphs of the user's with tasks in flight.
    int busy_graphs() const { return busy_graphs_.load(std::memory_order_acquire); }

    /// Parts of data without valid contents.
    Unwritten& unwritten() { return unwritten_; }
    /// How tasks ended that have completed.
    Outcomes& outcomes() { return outcomes_; }
    const Outcomes& outcomes() const { return outcomes_; }

    /// Nothing holds the task back: it is passed on. Allowed under a scope's lock, which no scheduler or driver takes.
    void run(Task& task) { runnable_.run(task); }

    /// Whether the task has completed; what it wrote is visible then.
    bool completed(TaskRef task) const {
        // acquire: what the task wrote is visible to the thread that learns of its completion
        const std::uint64_t word = pool_.at(task.slot).successors.load(std::memory_order_acquire);
        return Task::generation_of(word) != task.generation;
    }
    /// For messages: the task may go on meanwhile.
    TaskStage stage(TaskRef task) const;
    /// For messages: those of its predecessors that have not completed, as far as they were kept.
    std::vector<TaskRef> known_predecessors(TaskRef task) const;
    /// Whether the task has not completed and uses data on that node.
    bool uses_node(TaskRef task, Node node) const {
        const std::uint8_t used = pool_.at(task.slot).node.load(std::memory_order_relaxed);
        return !completed(task) && (used == node || used == Task::several_nodes);
    }

    TaskPool& pool() { return pool_; }
    DeviceWorkPool& device_works() { return device_works_; }

  private:
    Scope& children_of(const ThreadContext& context);
    Scope& target() {
        Scope* target = SubmissionTarget::of(*this);
        return target != nullptr ? *target : root_;
    }

    TaskPool pool_;
    SlotCache root_cache_;
    RunnableTasks& runnable_;
    std::atomic<std::uint64_t> next_order_{1};
    Scope root_;
    Scope housekeeping_{root_, 0};
    std::atomic<int> busy_graphs_{0};
    std::atomic<std::uint64_t> submitted_to_graphs_{0};  ///< written under the root order's lock
    std::atomic<std::uint64_t> kept_out_{0};
    Unwritten unwritten_;
    Outcomes outcomes_;
    DeviceWorkPool device_works_;

    std::mutex statistics_lock_;
    Statistics retired_;  ///< counts of scopes that are gone; guarded by statistics_lock_
};

}  // namespace basalt::detail
