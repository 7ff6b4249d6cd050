// Handles and futures, and what the calling thread is for the runtime: the public functions.
#include <algorithm>
#include <chrono>
#include <exception>
#include <string>

#include "basalt/future.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "basalt/task_handle.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt {

namespace detail {

namespace {

const TaskWaits& waits_of(const Runtime& runtime) { return engine_of(runtime).task_waits(); }

/// nullptr for an empty handle.
const TaskWaits* waits_for(const TaskHandle& handle, const char* call) {
    return handle.valid() ? &waits_of(runtime_of(handle, call)) : nullptr;
}

}  // namespace

Runtime& runtime_of(const TaskHandle& handle, const char* call) {
    if (!handle.valid() && !HandleAccess::is_recorded(handle))
        throw UsageError("TaskHandle::" + std::string(call) + ": the handle stands for no task");
    if (Runtime* runtime = HandleAccess::runtime(handle)) return *runtime;
    throw UsageError("TaskHandle::" + std::string(call) +
                     ": the runtime has ended; its end waited for the task, and how that ended is no longer known");
}

void await_task(const TaskHandle& task) {
    if (const Runtime* runtime = HandleAccess::runtime(task)) waits_of(*runtime).wait(task, {});
}

void rethrow_error_of(const TaskHandle& task) {
    const Runtime* runtime = HandleAccess::runtime(task);
    const std::exception_ptr error = runtime != nullptr ? waits_of(*runtime).error_of(task) : nullptr;
    if (error) std::rethrow_exception(error);
}

void refuse_recorded(const TaskHandle& task, const TaskOptions& options) {
    if (task.valid()) return;
    throw UsageError("task '" + std::string(options.name.c_str()) +
                     "' returns a value or is a coroutine; allowed while a Recording is made are other kernels");
}

void refuse_gang(const TaskOptions& options) {
    if (options.threads.max <= 1) return;
    throw UsageError("task '" + std::string(options.name.c_str()) +
                     "': a gang, whose kernel every member calls, returns no value");
}

void refuse_copies_of_workers(const TaskOptions& options) {
    throw UsageError("task '" + std::string(options.name.c_str()) +
                     "' is a coroutine and reduces with Order::any, whose copies belong to workers; coroutines, which "
                     "may go on on another worker, reduce with Order::deterministic");
}

void check_loop(const TaskName& name, IndexRange range, Index grain) {
    const std::string task = "loop '" + std::string(name.c_str()) + "': ";
    if (range.end < range.begin) {
        throw UsageError(task + "range [" + std::to_string(range.begin) + ", " + std::to_string(range.end) +
                         "); allowed is begin <= end");
    }
    if (grain < 0) throw UsageError(task + "grain " + std::to_string(grain) + "; allowed is 0 (automatic) or more");
}

void run_and_wait(Runtime& runtime, const std::function<TaskHandle()>& submit) {
    engine_of(runtime).waiting().refuse_to_block("parallel_for()");
    engine_of(runtime).graph().refuse_while_recording("parallel_for()");
    if (!inside_task(runtime)) {
        Graph graph(runtime);
        const SubmitTo here(graph);
        submit();
        return graph.wait();
    }
    const TaskHandle loop = submit();
    try {
        loop.wait();
    } catch (...) {
        runtime.wait();  // throws the first error of the children, and the task may go on
        throw;
    }
}

}  // namespace detail

bool TaskHandle::done() const {
    const Runtime* runtime = valid() ? detail::HandleAccess::runtime(*this) : nullptr;
    return runtime == nullptr || detail::waits_of(*runtime).done(*this);
}

void TaskHandle::wait() const {
    const detail::TaskWaits* waits = detail::waits_for(*this, "wait()");
    if (waits == nullptr) return;
    waits->wait(*this, {});
    detail::rethrow_error_of(*this);
}

bool TaskHandle::wait_for(std::chrono::nanoseconds limit) const {
    constexpr auto forever = std::chrono::hours(24 * 365);
    const detail::TaskWaits* waits = detail::waits_for(*this, "wait_for()");
    if (waits == nullptr) return true;
    const auto deadline = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(limit, forever);
    if (!waits->wait(*this, deadline)) return false;
    detail::rethrow_error_of(*this);
    return true;
}

int worker() {
    const detail::ThreadContext* context = detail::ThreadContext::innermost();
    if (context == nullptr || context->task() == nullptr) throw UsageError("worker() outside tasks");
    if (context->worker() == nullptr) {
        throw UsageError("worker() in the GPU kernel of task '" + task_label(*context->task()) +
                         "', which no worker runs");
    }
    return context->worker()->number;
}

}  // namespace basalt
