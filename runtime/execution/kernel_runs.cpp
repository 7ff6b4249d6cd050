#include "runtime/execution/kernel_runs.hpp"

#include <cxxabi.h>

#include <exception>
#include <string>

#include <spdlog/spdlog.h>

#include "runtime/execution/task_errors.hpp"

namespace basalt::detail {

namespace {

TeamBarrier& solo_barrier() {
    static TeamBarrier barrier(1);
    return barrier;
}

/// The kernel called pthread_exit(), or its thread was cancelled: the thread is the runtime's, or waits in it, and no
/// task may take it away.
[[noreturn]] void terminate_with_thread(const Task& task) {
    spdlog::critical("basalt: task '{}' ends its thread (pthread_exit() or pthread_cancel())", task_label(task));
    spdlog::default_logger()->flush();
    std::terminate();
}

}  // namespace

void KernelRuns::run(Task& task, Worker& worker, const Team& team) {
    // a thread that works for a gang, as a member or on its children, counts as busy with it (see GangHall)
    const bool for_gang = team.size() > 1 || task.scope->inside_gang;
    worker.gangs += for_gang ? 1 : 0;
    const bool traced = trace_.enabled() && task.kind == TaskKind::user;
    const std::int64_t begin = traced ? TraceRecorder::now() : 0;
    bool failed = false;
    worker.kernels.store(worker.kernels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // a task that waits runs others meanwhile
    const char* const outer = worker.running.load(std::memory_order_relaxed);
    worker.running.store(task.name, std::memory_order_relaxed);
    {
        const ThreadContext context(graph_, &worker, &task);
        try {
            task.ops->run(task.kernel_storage(), team);
        } catch (abi::__forced_unwind&) {
            terminate_with_thread(task);
        } catch (...) {
            fail_task(graph_.unwritten(), task, "cpu worker " + std::to_string(worker.place));
            failed = true;
        }
    }
    worker.running.store(outer, std::memory_order_relaxed);
    if (traced) trace_.record(worker.place, task, begin);
    worker.gangs -= for_gang ? 1 : 0;
    // no member may wait for this one any more
    if (team.size() > 1) failed ? team.poison() : team.drop();
}

void KernelRuns::run_alone(Task& task, Worker& worker) {
    if (may_run(task)) run(task, worker, Team(0, solo_barrier()));
}

void KernelRuns::note_cancelled(const Task& task) {
    graph_.unwritten().fail(task, "task " + task_label(task) + " did not run, because its graph was cancelled");
}

bool KernelRuns::may_still_run(Task& task) {
    if (task.scope->drained()) {
        note_cancelled(task);
        return false;
    }
    const auto missing = graph_.unwritten().begin(task);
    if (missing) drop_task(task, *missing);
    return !missing;
}

void KernelRuns::run_on_device(Task& task, Stream stream) {
    if (task.scope->drained()) return note_cancelled(task);
    const ThreadContext inside(graph_, nullptr, &task);
    task.ops->run_on_device(task.kernel_storage(), stream);
}

}  // namespace basalt::detail
