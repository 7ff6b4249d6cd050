#pragma once

#include "basalt/team.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/observe/observers.hpp"
#include "runtime/placement/placed_tasks.hpp"

namespace basalt::detail {

/// Calls the kernels of tasks, with the thread's context set, and tells the observers.
class KernelRuns {
  public:
    /// `placed`: nullptr where no policy observes tasks.
    KernelRuns(TaskGraph& graph, Observers& observers, PlacedTasks* placed)
        : graph_(graph), observers_(observers), placed_(placed) {}

    /// Whether the task may run: its graph goes on, and what it reads has contents. To be asked once, before it does.
    bool may_run(Task& task) {
        if (!is_users(task.kind)) return true;
        if (!task.scope->drained() && !graph_.unwritten().any()) return true;
        return may_still_run(task);
    }
    /// Runs the task's CPU kernel on this thread alone, if it may run.
    void run_alone(Task& task, Worker& worker) {
        graph_.pool().prefetch_successor(task);
        if (!may_run(task)) return;
        if (observes(task)) [[unlikely]]
            return observed(task, worker, [&] { return run(task, worker, alone_); });
        run(task, worker, alone_);
    }
    /// Runs a gang: has run() called by its members, and returns whether one of them failed.
    template <class F>
    void run_gang(Task& task, Worker& leader, const F& run) {
        observes(task) ? observed(task, leader, run) : static_cast<void>(run());
    }
    /// Runs the task's CPU kernel as a member of `team`, and leaves the team. What the kernel throws cancels the graph.
    /// Whether it threw.
    bool run_as_member(Task& task, Worker& worker, const Team& team);
    /// A kernel that is not in its task.
    struct KeptKernel {
        const KernelOps& ops;
        void* storage;
        void* arguments;  ///< see KernelOps::run
    };
    /// Runs the CPU kernel of a recorded task, which its recording keeps, on this thread alone. It may run.
    void run_recorded(Task& task, Worker& worker, const KeptKernel& kernel) {
        if (observers_.any()) [[unlikely]]
            return observed(task, worker, [&] { return run(task, worker, alone_, kernel); });
        run(task, worker, alone_, kernel);
    }
    /// What the calling thread has just caught counts as thrown by the task's kernel.
    void fail(Task& task, const Worker& worker);
    /// Whether somebody observes tasks.
    bool observed() const { return observers_.any(); }
    /// Calls the task's device kernel, which may neither submit nor wait. Does nothing where the graph has been
    /// cancelled: a kernel that computes in its stream's turn may come late.
    void run_on_device(Task& task, Stream stream);

  private:
    bool observes(const Task& task) const {
        return observers_.any() && (is_users(task.kind) || task.kind == TaskKind::step);
    }
    bool run(Task& task, Worker& worker, const Team& team) {
        return run(task, worker, team, {*task.ops, task.kernel_storage(), nullptr});
    }
    bool run(Task& task, Worker& worker, const Team& team, const KeptKernel& kernel);
    /// Runs the task between what observers do.
    template <class F>
    void observed(Task& task, Worker& worker, const F& run) {
        Observers::Run record;
        if (!begin_observed(task, worker, record)) return;
        end_observed(task, worker, record, run() ? TaskEnd::failed : TaskEnd::succeeded);
    }
    bool begin_observed(Task& task, Worker& worker, Observers::Run& record);
    void end_observed(Task& task, Worker& worker, const Observers::Run& record, TaskEnd end);
    bool may_still_run(Task& task);

    TaskGraph& graph_;
    Observers& observers_;
    PlacedTasks* const placed_;
    TeamBarrier barrier_of_one_{1};
    const Team alone_{0, barrier_of_one_};  ///< the team of a task that is no gang
};

}  // namespace basalt::detail
