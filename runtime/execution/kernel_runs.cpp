#include "runtime/execution/kernel_runs.hpp"

#include <cxxabi.h>

#include <exception>
#include <string>

#include <spdlog/spdlog.h>

#include "runtime/execution/task_errors.hpp"

namespace basalt::detail {

namespace {

std::string place_text(const Worker& worker) {
    return worker.post == Worker::Post::spare ? "cpu spare thread" : "cpu worker " + std::to_string(worker.place);
}

/// The kernel called pthread_exit(), or its thread was cancelled: the thread is the runtime's, or waits in it, and no
/// task may take it away.
[[noreturn]] void terminate_with_thread(const Task& task) {
    spdlog::critical("basalt: task '{}' ends its thread (pthread_exit() or pthread_cancel())", task_label(task));
    spdlog::default_logger()->flush();
    std::terminate();
}

}  // namespace

bool KernelRuns::run(Task& task, Worker& worker, const Team& team, const KeptKernel& kernel) {
    const bool gang = team.size() > 1;
    // a thread that works for a gang, as a member or on its children, counts as busy with it (see GangHall)
    const bool for_gang = gang || task.scope->inside_gang;
    worker.gangs += for_gang ? 1 : 0;
    const bool measured = placed_ != nullptr && team.rank() == 0 && placed_->observes(task);
    const std::int64_t begin = measured ? TraceRecorder::now() : 0;
    bool failed = false;
    worker.kernels.store(worker.kernels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // a task that waits runs others meanwhile
    const char* const outer = worker.running.load(std::memory_order_relaxed);
    worker.running.store(task.name, std::memory_order_relaxed);
    {
        const ThreadContext context(graph_, &worker, &task);
        try {
            kernel.ops.run(kernel.storage, kernel.arguments, team);
        } catch (abi::__forced_unwind&) {
            terminate_with_thread(task);
        } catch (...) {
            fail(task, worker);
            failed = true;
        }
    }
    worker.running.store(outer, std::memory_order_relaxed);
    if (measured && !failed) placed_->ran(task, TraceRecorder::now() - begin);
    observers_.kernel_returned(task);
    worker.gangs -= for_gang ? 1 : 0;
    // no member may wait for this one any more
    if (gang) failed ? team.poison() : team.drop();
    return failed;
}

void KernelRuns::fail(Task& task, const Worker& worker) { fail_task(graph_, task, place_text(worker)); }

bool KernelRuns::run_as_member(Task& task, Worker& worker, const Team& team) {
    const std::int64_t begin = observes(task) ? observers_.member_started() : 0;
    const bool failed = run(task, worker, team);
    observers_.member_ended(task, worker, begin);
    return failed;
}

/// False where a hook throws, which counts as thrown by the kernel. Then the task does not run.
bool KernelRuns::begin_observed(Task& task, Worker& worker, Observers::Run& record) {
    try {
        observers_.started(task, worker, record);
        return true;
    } catch (...) {
        fail(task, worker);
        return false;
    }
}

void KernelRuns::end_observed(Task& task, Worker& worker, const Observers::Run& record, TaskEnd end) {
    try {
        observers_.ended(task, worker, record, end);
    } catch (...) {
        fail(task, worker);
    }
}

bool KernelRuns::may_still_run(Task& task) {
    if (task.scope->drained()) {
        cancel_task(graph_, task);
    } else {
        const auto refusal = graph_.unwritten().begin(task);
        if (!refusal) return true;
        drop_task(graph_, task, *refusal);
    }
    observers_.cancelled(task);
    return false;
}

void KernelRuns::run_on_device(Task& task, Stream stream) {
    if (task.scope->drained()) return cancel_task(graph_, task);
    const ThreadContext inside(graph_, nullptr, &task);
    try {
        task.ops->run_on_device(task.kernel_storage(), nullptr, stream);
    } catch (abi::__forced_unwind&) {
        terminate_with_thread(task);
    }
}

}  // namespace basalt::detail
