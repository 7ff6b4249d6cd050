#include "runtime/engine/task_waits.hpp"

#include <string>

namespace basalt::detail {

/// The children that the calling thread may wait for, since the task is one of them.
Scope& TaskWaits::check_may_wait(const ThreadContext& context, const TaskHandle& handle) const {
    TaskGraph::refuse_where_closed(context);
    waiting_.refuse_to_block("waiting for a task");
    Scope* children = context.task() != nullptr ? context.task()->children.load(std::memory_order_acquire) : nullptr;
    const auto order = static_cast<std::uint32_t>(children != nullptr ? children->order.id : 0);
    if (children != nullptr && order == HandleAccess::order(handle)) return *children;
    throw UsageError("task '" + task_label(*context.task()) +
                     "' waits for a task that it has not submitted, and that may be waiting for this very task; submit "
                     "what needs that task with after(handle), or co_await the handle in a coroutine");
}

bool TaskWaits::wait(const TaskHandle& handle, Deadline deadline) const {
    const TaskRef task = HandleAccess::task(handle);
    if (graph_.completed(task)) return true;
    graph_.refuse_while_recording("waiting for a task");
    const auto completed = [&] { return graph_.completed(task); };
    const ThreadContext* context = ThreadContext::of(graph_);
    Scope* children = context != nullptr && context->task() != nullptr ? &check_may_wait(*context, handle) : nullptr;
    if (children == nullptr) waiting_.refuse_to_block("waiting for a task");
    const Waiters::Note note(waiting_.waiters(), context != nullptr ? context->task() : nullptr,
                             [] { return std::string("for one task, by its handle"); });
    // A thread that waits with a limit looks every now and then: one that asks again and again must not leave a signal
    // behind each time.
    if (!deadline) NewTask::signal_behind(graph_, task);
    if (children != nullptr) {
        waiting_.help(*children, completed, deadline);
    } else {
        waiting_.help_outside(graph_.current_graph(), completed, deadline);
    }
    return completed();
}

void TaskWaits::check_may_follow(const TaskGraph& graph, const char* name, const Scope& scope,
                                 std::span<const TaskHandle> handles) {
    for (const TaskHandle& handle : handles) {
        if (HandleAccess::is_recorded(handle)) {
            throw UsageError("task '" + std::string(name) +
                             "': after() got the handle of a task that was recorded, which runs when its Recording "
                             "does; allowed are handles of tasks that were submitted");
        }
        if (!handle.valid()) continue;
        const TaskGraph* its_graph = HandleAccess::graph(handle);
        if (its_graph != &graph) {
            throw UsageError("task '" + std::string(name) + "': after() got a handle of " +
                             (its_graph == nullptr ? "a runtime that has ended" : "another runtime") +
                             "; allowed are those of the same runtime");
        }
        for (const Task* around = scope.owner; around != nullptr; around = around->scope->owner) {
            if (around->ref() != HandleAccess::task(handle)) continue;
            throw UsageError("task '" + std::string(name) + "': after() got the handle of task '" +
                             task_label(*around) + "', which is around it and completes only when this task has");
        }
    }
}

}  // namespace basalt::detail
