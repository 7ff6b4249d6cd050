// Coroutines. One is a task whose kernel returns at the first co_await that has to wait. What follows runs in steps:
// children of the task, which are submitted one behind another. So the task completes when the last of them has, and
// whatever waits for it needs to know nothing of coroutines.
#include <coroutine>
#include <exception>
#include <mutex>

#include "basalt/routine.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

namespace {

/// The kernel of a step. The coroutine's frame belongs to the task, which cannot complete before the step.
struct CoroutineStep {
    TaskGraph* graph;
    Task* task;
    std::coroutine_handle<> coroutine;

    void operator()() const {
        if (task->scope->drained()) return;  // the frame ends with the task
        Worker& worker = *ThreadContext::of(*graph)->worker();
        // what the coroutine does, the task does: what it submits are the task's children
        const ThreadContext inside = ThreadContext::of_coroutine(*graph, worker, *task);
        coroutine.resume();
    }
};
using CoroutineStepOps = PlainOps<CoroutineStep, NoKernel>;

}  // namespace

void begin_coroutine(std::coroutine_handle<> coroutine) {
    const ThreadContext& kernel = *ThreadContext::innermost();
    TaskGraph& graph = kernel.graph();
    graph.current_scope().of_coroutine = true;
    const ThreadContext inside = ThreadContext::of_coroutine(graph, *kernel.worker(), *kernel.task());
    coroutine.resume();
}

void resume_behind(const TaskHandle& task, std::coroutine_handle<> coroutine) {
    const ThreadContext* context = ThreadContext::innermost();
    if (context == nullptr || !context->inside_coroutine()) {
        throw UsageError("co_await of a task in a Routine that no task runs; submit a kernel that returns the Routine");
    }
    TaskGraph& graph = context->graph();
    Task& owner = *context->task();
    Scope& children = *owner.children.load(std::memory_order_acquire);
    const std::span<const TaskHandle> awaited(&task, 1);
    TaskWaits::check_may_follow(graph, owner.name, children, awaited);
    // The frame, and `task` with it, may be gone as soon as the step has entered. The scope is not: it counts the step
    // or the kernel that is calling.
    const std::lock_guard guard(children.order.lock);
    TaskBuilder step(graph, children);
    step.make_step(owner);
    CoroutineStepOps::Source source{{&graph, &owner, coroutine}, {}};
    step.store_kernel(CoroutineStepOps::ops, &source, nullptr);
    step.follow(awaited, NewTask::Follow::always);
    step.record_hazards();
    step.submit();
}

void refuse_empty(const char* what) { throw UsageError(what); }

void tell_error_of(const TaskHandle& task) {
    const Runtime* runtime = HandleAccess::runtime(task);
    const std::exception_ptr error = runtime != nullptr ? engine_of(*runtime).task_waits().error_of(task) : nullptr;
    if (!error) return;
    const ThreadContext* context = ThreadContext::innermost();
    if (context != nullptr && context->inside_coroutine()) {
        const Task& owner = *context->task();
        const bool told = owner.children.load(std::memory_order_acquire)->take_error(error);
        Unwritten& unwritten = context->graph().unwritten();
        // as in a task that catches its children's error: it knows the data
        if (told && unwritten.any() && !owner.scope->drained()) unwritten.take_over(owner);
    }
    std::rethrow_exception(error);
}

}  // namespace basalt::detail
