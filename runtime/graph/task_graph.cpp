#include "runtime/graph/task_graph.hpp"

#include <string>

namespace basalt::detail {

static_assert(Config::most_window <= TaskPool::max_slots / 4, "a window must leave slots for relays and other scopes");

namespace {

void add_counts(const ProgramOrder& order, Statistics& sum) {
    sum.tasks += order.user_tasks;
    sum.edges += order.edges;
    sum.dropped += order.dropped;
    sum.sync_nodes += order.sync_nodes;
    sum.renamed += order.renamed;
}

}  // namespace

TaskGraph::TaskGraph(RunnableTasks& runnable) : runnable_(runnable), root_(next_order_++) {
    root_.order.cache = &root_cache_;
}

void TaskGraph::refuse_in_device_kernel(const ThreadContext& context) {
    if (!context.inside_device_kernel()) return;
    throw UsageError("task '" + task_label(*context.task()) +
                     "': the runtime is used inside its GPU kernel, which may only enqueue work on its stream");
}

/// The scope of the task's children, made when the first of them is submitted.
Scope& TaskGraph::children_of(const ThreadContext& context) {
    refuse_in_device_kernel(context);
    Task& task = *context.task();
    Scope* children = task.children.load(std::memory_order_acquire);
    if (children != nullptr) return *children;
    auto* fresh = new Scope(task, next_order_.fetch_add(1, std::memory_order_relaxed));
    fresh->inside_gang = context.worker()->gangs > 0;
    // acq_rel: members of a gang may race for the first child; all of them use the scope that got there first
    if (task.children.compare_exchange_strong(children, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return *fresh;
    }
    delete fresh;
    return *children;
}

void TaskGraph::retire(Scope* scope) {
    {
        const std::lock_guard guard(statistics_lock_);
        add_counts(scope->order, retired_);
    }
    delete scope;
}

Statistics TaskGraph::statistics() {
    Statistics sum;
    {
        const std::lock_guard guard(statistics_lock_);
        sum = retired_;
    }
    const std::lock_guard guard(root_.order.lock);
    add_counts(root_.order, sum);
    return sum;
}

}  // namespace basalt::detail
