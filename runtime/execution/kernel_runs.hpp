#pragma once

#include "basalt/team.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt::detail {

/// Calls the kernels of tasks, with the thread's context set, and records them in the trace.
class KernelRuns {
  public:
    KernelRuns(TaskGraph& graph, TraceRecorder& trace) : graph_(graph), trace_(trace) {}

    /// Whether the task may run: its graph goes on, and what it reads has contents. To be asked once, before it does.
    bool may_run(Task& task) {
        if (task.kind != TaskKind::user) return true;
        if (!task.scope->drained() && !graph_.unwritten().any()) return true;
        return may_still_run(task);
    }
    /// Runs the task's CPU kernel as a member of `team`, and leaves the team. What the kernel throws cancels the graph.
    void run(Task& task, Worker& worker, const Team& team);
    /// Runs the task's CPU kernel on this thread alone, if it may run.
    void run_alone(Task& task, Worker& worker);
    /// Calls the task's device kernel, which may neither submit nor wait. Does nothing where the graph has been
    /// cancelled: a kernel that computes in its stream's turn may come late.
    void run_on_device(Task& task, Stream stream);

  private:
    bool may_still_run(Task& task);
    void note_cancelled(const Task& task);

    TaskGraph& graph_;
    TraceRecorder& trace_;
};

}  // namespace basalt::detail
