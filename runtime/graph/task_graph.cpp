#include "runtime/graph/task_graph.hpp"

#include <string>

#include "runtime/graph/recorded_frame.hpp"

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

void TaskGraph::refuse_where_closed(const ThreadContext& context) {
    if (!context.is_closed()) return;
    throw UsageError("task '" + task_label(*context.task()) + "': the runtime is used inside " +
                     (context.inside_hook() ? "a hook or policy, which may not do that"
                                            : "its GPU kernel, which may only enqueue work on its stream"));
}

void TaskGraph::refuse_while_recording(const char* what) const {
    if (recorder() == nullptr) return;
    throw UsageError(std::string(what) + " while a Recording is made: allowed is submit() to its Runtime");
}

/// The scope of the task's children, made when the first of them is submitted.
Scope& TaskGraph::children_of(const ThreadContext& context) {
    refuse_where_closed(context);
    Task& task = *context.task();
    Scope* children = task.children.load(std::memory_order_acquire);
    if (children != nullptr) return *children;
    if (task.kind == TaskKind::recorded) static_cast<RecordedFrame&>(task).bind_accesses();
    auto* fresh = new Scope(task, next_order_.fetch_add(1, std::memory_order_relaxed));
    fresh->inside_gang = context.worker()->gangs > 0;
    // acq_rel: members of a gang may race for the first child; all of them use the scope that got there first
    if (task.children.compare_exchange_strong(children, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return *fresh;
    }
    delete fresh;
    return *children;
}

TaskStage TaskGraph::stage(TaskRef ref) const {
    const Task& task = pool_.at(ref.slot);
    if (task.pending.load(std::memory_order_relaxed) > 0) return TaskStage::waits_for_tasks;
    if (task.on_device() != nullptr) return TaskStage::on_device;
    return task.children.load(std::memory_order_relaxed) != nullptr ? TaskStage::has_children : TaskStage::ready;
}

std::vector<TaskRef> TaskGraph::known_predecessors(TaskRef ref) const {
    const Task& task = pool_.at(ref.slot);
    std::vector<TaskRef> found;
    const std::size_t recorded = task.recorded.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < recorded; ++i) {
        const TaskRef before = unpacked(task.predecessors[i].load(std::memory_order_acquire) & ~Task::in_part);
        if (!completed(before)) found.push_back(before);
    }
    // otherwise they were another one's
    return completed(ref) ? std::vector<TaskRef>() : found;
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
    sum.tasks += kept_out();
    return sum;
}

}  // namespace basalt::detail
