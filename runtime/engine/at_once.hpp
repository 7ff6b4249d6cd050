#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/execution/completion.hpp"
#include "runtime/execution/kernel_runs.hpp"
#include "runtime/execution/ready_tasks.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/workers/outside_place.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

/// Runs tasks that wait for nothing inside submit(), when the other workers, if any, have enough to do and tasks have
/// been short lately: it takes less time to run such a task than to hand it to another core. Thread-safe.
///
/// The submitting thread works place 0 meanwhile. Whatever else it would have done, it would have run no task, so
/// priorities of tasks that are ready do not matter.
class AtOnce {
  public:
    struct Parts {
        TaskGraph& graph;
        ReadyTasks& ready;
        KernelRuns& kernels;
        Completion& completion;
        const Observers& observers;
        OutsidePlace& outside;
        Worker& outside_worker;  ///< place 0
        const Progress& progress;
        const std::atomic<std::uint64_t>& waits;  ///< of threads outside tasks
        int workers;
        bool allowed;  ///< submit() may run tasks, see Config::window
    };
    explicit AtOnce(const Parts& parts)
        : p_(parts),
          queued_(parts.allowed ? parts.ready.queued(parts.outside_worker) : nullptr),
          enough_(enough_for_worker * static_cast<std::size_t>(parts.workers - 1)) {}

    /// Runs a task without accesses that is submitted to the scope and takes no part in the graph, since nothing can
    /// wait for it meanwhile. Returns how handles call it; empty where it has to be submitted.
    std::optional<TaskRef> run(const Scope& scope, const TaskOptions& options, const KernelOps& ops, void* source) {
        return suits(scope, options, ops) && may_run() ? run_here(options, ops, source) : std::nullopt;
    }
    /// Runs a task that has entered the graph and waits for nothing. False where it has to be queued.
    bool run(Task& task) { return queued_ != nullptr && !task.gang && !task.commutes && may_run() && run_here(task); }
    /// The calling thread has waited for room in the window: the next look tells how long tasks took meanwhile.
    void look_soon() { skipped_.store(0, std::memory_order_relaxed); }

  private:
    /// Submissions between two looks at how the workers are doing.
    static constexpr int stretch = 64;
    /// As many ready tasks for each other worker keep it busy about as long as a stretch keeps the submitter.
    static constexpr std::size_t enough_for_worker = 64;

    /// Of the program's own graph alone, which counts what completes a place at a time.
    bool suits(const Scope& scope, const TaskOptions& options, const KernelOps& ops) const {
        return queued_ != nullptr && &scope == &p_.graph.root() && options.threads.max == 1 && ops.run != nullptr &&
               !options.place.is_gpu() && !p_.observers.any() && ops.destroy == nullptr && ops.room_behind == nullptr &&
               Task::fits_inline(ops, ops.size);
    }
    /// The number of ready tasks is asked for each time: a long task holds up the submitter, but workers find others.
    bool may_run() {
        return queued_->load(std::memory_order_relaxed) >= enough_ && !has_waited() &&
               (left_.load(std::memory_order_relaxed) > 0 || look());
    }
    /// Whether the program has waited since the last call: what comes behind a wait may be of another kind.
    bool has_waited() {
        const std::uint64_t waits = p_.waits.load(std::memory_order_relaxed);
        if (waits == waits_.load(std::memory_order_relaxed)) [[likely]]
            return false;
        waits_.store(waits, std::memory_order_relaxed);
        left_.store(0, std::memory_order_relaxed);
        skipped_.store(stretch - 1, std::memory_order_relaxed);
        return true;
    }
    bool look();
    std::optional<TaskRef> run_here(const TaskOptions& options, const KernelOps& ops, void* source);
    bool run_here(Task& task);
    Task& fresh_task();

    const Parts p_;
    const std::atomic<std::size_t>* const queued_;  ///< ready tasks of place 0; nullptr where none may run at once
    const std::size_t enough_;
    // Relaxed: a count that gets lost when several threads submit costs nothing but time.
    std::atomic<int> left_{0};     ///< how many more tasks may run at once
    std::atomic<int> skipped_{0};  ///< tasks that are queued before the next look
    std::atomic<std::uint64_t> waits_{0};

    // of the thread that works place 0
    Task* task_ = nullptr;         ///< in which they run one after the other
    std::uint64_t completed_ = 0;  ///< at the last look
    std::chrono::steady_clock::time_point looked_{};
};

}  // namespace basalt::detail
