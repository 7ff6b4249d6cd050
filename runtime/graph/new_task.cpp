#include "runtime/graph/new_task.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "runtime/graph/datum.hpp"

namespace basalt::detail {

NewTask::NewTask(TaskGraph& graph, Scope& scope, SlotCache& cache)
    : graph_(graph), scope_(scope), order_(scope.order), cache_(cache), task_(&graph.pool().take(cache)) {
    // unique over all orders: a stamp left in a recycled slot never equals a later one
    stamp_ = order_.id << 32 | ((order_.next_stamp += 2) & 0xffffffff);
    task_->begin(scope);
    task_->pending.store(held, std::memory_order_relaxed);
}

bool NewTask::completed(TaskRef ref) const { return graph_.completed(ref); }

void NewTask::depend_on(TaskRef predecessor) {
    if (!predecessor.valid() || predecessor.slot == task_->slot) return;
    if (!block_) {
        add_edge(predecessor, Awaited::whole);
    } else if (stamp(predecessor)) {
        add_candidate(pack(predecessor));
    }
}

/// What this task waits for. Where a part is not enough, it waits for no broadcast in part from now on.
NewTask::Awaited NewTask::awaited_on_device(DeviceWork& self, const DeviceWork& before, Awaited least) {
    if (!before.has_parts.load(std::memory_order_relaxed)) return Awaited::whole;
    if (least == Awaited::whole) self.one_memory.store(false, std::memory_order_relaxed);
    return self.one_memory.load(std::memory_order_relaxed) ? Awaited::part : Awaited::whole;
}

/// Pushes an edge onto the predecessor's list unless it has completed or already has one to this task.
inline void NewTask::add_edge(TaskRef predecessor, Awaited awaited) {
    Task& before = graph_.pool().at(predecessor.slot);
    std::uint64_t head = before.successors.load(std::memory_order_acquire);
    if (Task::generation_of(head) != predecessor.generation) return;
    // Stamps are written by submitters in the program order that the predecessor belongs to, so while the generation
    // stands the stamp is this submitter's business alone; once it does not, nothing is lost by returning.
    if (before.stamp.load(std::memory_order_relaxed) == stamp_) {
        ++order_.dropped;
        return;
    }
    before.stamp.store(stamp_, std::memory_order_relaxed);
    link_behind(before, head, predecessor, awaited);
}

bool NewTask::follow(TaskRef predecessor, Follow follow) {
    Task& before = graph_.pool().at(predecessor.slot);
    const std::uint64_t head = before.successors.load(std::memory_order_acquire);
    if (Task::generation_of(head) != predecessor.generation) return false;
    // The predecessor may be of another program order, whose submitters write the stamp at the same time: then the edge
    // is made twice at worst. A stamp that is found is this task's, and so is the edge.
    if (before.stamp.load(std::memory_order_relaxed) == stamp_) return true;
    before.stamp.store(stamp_, std::memory_order_relaxed);
    return link_behind(before, head, predecessor, Awaited::whole,
                       follow == Follow::if_succeeds ? TaskPool::spreads_failure : 0);
}

/// Makes the edge. `head`: the list as it was when the predecessor had not completed. False where it has completed
/// since. `mark`: TaskPool::spreads_failure or 0.
inline bool NewTask::link_behind(Task& before, std::uint64_t head, TaskRef predecessor, Awaited awaited,
                                 std::uint32_t mark) {
    DeviceWork* self = task_->on_device();
    // kept: the slot's next tenant may have none
    const DeviceWork* work = self != nullptr ? before.on_device() : nullptr;
    if (work != nullptr) return link_on_devices(before, *work, head, predecessor, awaited, mark);
    if (!push_edge(before, head, predecessor, mark)) return false;
    note_predecessor(predecessor, Awaited::whole);
    ++edges_;
    return true;
}

/// The same where both tasks run on devices.
bool NewTask::link_on_devices(Task& before, const DeviceWork& work, std::uint64_t head, TaskRef predecessor,
                              Awaited awaited, std::uint32_t mark) {
    DeviceWork& self = *task_->on_device();
    awaited = awaited_on_device(self, work, awaited);
    self.unfinished.fetch_add(1, std::memory_order_relaxed);
    if (!push_edge(before, head, predecessor, mark)) {
        self.unfinished.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    note_predecessor(predecessor, awaited);
    if ((head & Task::enqueued) != 0) {
        wait_behind(work);
    } else {
        ++edges_;
    }
    return true;
}

/// Pushes an edge onto the list with that head, which becomes what it was just before. False where the predecessor has
/// completed meanwhile.
inline bool NewTask::push_edge(Task& before, std::uint64_t& head, TaskRef predecessor, std::uint32_t mark) {
    std::uint32_t* next = nullptr;
    const std::uint32_t edge = new_edge(next);
    if (before.push_edge(head, predecessor.generation, edge | mark, *next)) return true;
    take_back_edge();
    return false;
}

/// The edge stays unused; the next one takes its place.
void NewTask::take_back_edge() {
    if (task_->relay == TaskRef::none) {
        --task_->used_edges;
    } else {
        --relay_used_;
    }
}

/// The predecessor is on its way in a stream: it is enough that this one's stream waits for it. (If it completes just
/// now and `before` is some other task's already, that one is waited for without need.)
void NewTask::wait_behind(const DeviceWork& before) {
    std::array<StreamPoint, DeviceWork::most_ends> ends;
    DeviceWork& self = *task_->on_device();
    const std::size_t count = before.ends_for(self, ends);
    for (std::size_t i = 0; i < count; ++i) self.waits.add(ends[i]);
}

/// An edge in a relay, a fresh one if need be.
std::uint32_t NewTask::new_relay_edge(std::uint32_t*& next) {
    if (task_->relay == TaskRef::none || relay_used_ == Relay::edges) {
        Task& slot = graph_.pool().take(cache_);
        slot.kind = TaskKind::relay;
        Relay* relay = ::new (reinterpret_cast<std::byte*>(&slot) + 64) Relay;
        relay->target = task_->slot;
        relay->previous = task_->relay;
        task_->relay = slot.slot;
        relay_used_ = 0;
    }
    next = &graph_.pool().relay_at(task_->relay).next_edge[relay_used_];
    return TaskPool::edge(task_->relay, relay_used_++);
}

template <class F>
void NewTask::for_each_candidate(const F& visit) {
    for (std::size_t i = 0; i < std::min(candidates_, few_candidates); ++i) visit(first_candidates_[i]);
    for (const std::uint64_t word : more_candidates_) visit(word);
}

void NewTask::add_collected_edges() {
    if (block_) return add_pruned_edges();
    for_each_candidate([&](std::uint64_t word) { add_edge(unpack(word), Awaited::part); });
}

/// Block tasks name many regions, most of which lead to the same few tasks or to predecessors of those.
/// A candidate that another candidate waits for is implied by it and needs no edge.
void NewTask::add_pruned_edges() {
    for_each_candidate([&](std::uint64_t word) {
        const TaskRef candidate = unpack(word);
        if (awaited_of(word) == Awaited::whole || completed(candidate)) return;
        graph_.pool().at(candidate.slot).stamp.store(stamp_, std::memory_order_relaxed);
    });
    for_each_candidate([&](std::uint64_t word) { settle_implied_by(unpack(word)); });
    // first those that are waited for in full: then an edge to a part of the same task is redundant
    for_each_candidate([&](std::uint64_t word) {
        if (awaited_of(word) == Awaited::whole) settle(unpack(word), Awaited::whole);
    });
    for_each_candidate([&](std::uint64_t word) {
        if (awaited_of(word) == Awaited::part) settle(unpack(word), Awaited::part);
    });
}

/// False where it has completed, or bears this task's stamp already.
bool NewTask::stamp(TaskRef predecessor) {
    Task& before = graph_.pool().at(predecessor.slot);
    if (completed(predecessor)) return false;
    if (before.stamp.load(std::memory_order_relaxed) == stamp_) {  // see add_edge()
        ++order_.dropped;
        return false;
    }
    before.stamp.store(stamp_, std::memory_order_relaxed);
    return true;
}

/// Makes the edge unless it is settled.
void NewTask::settle(TaskRef candidate, Awaited awaited) {
    Task& before = graph_.pool().at(candidate.slot);
    const std::uint64_t head = before.successors.load(std::memory_order_acquire);
    if (Task::generation_of(head) != candidate.generation) return;
    if (before.stamp.load(std::memory_order_relaxed) == settled_stamp()) {
        ++order_.dropped;
        return;
    }
    before.stamp.store(settled_stamp(), std::memory_order_relaxed);
    link_behind(before, head, candidate, awaited);
}

/// Other candidates that this one waits for need no edge.
void NewTask::settle_implied_by(TaskRef candidate) {
    const Task& task = graph_.pool().at(candidate.slot);
    const std::size_t recorded = task.recorded.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < recorded; ++i) {
        // acquire, here and above: the generation is looked at only afterwards
        const std::uint64_t word = task.predecessors[i].load(std::memory_order_acquire);
        if (awaited_of(word) == Awaited::part) continue;
        const TaskRef before = unpack(word);
        Task& implied = graph_.pool().at(before.slot);
        // A slot taken by another task meanwhile shows by its generation: of `task`, then the candidate has completed;
        // of `implied`, then the stamp belongs to another candidate.
        if (implied.stamp.load(std::memory_order_relaxed) != stamp_ || completed(before) || completed(candidate))
            continue;
        implied.stamp.store(settled_stamp(), std::memory_order_relaxed);
    }
}

/// The task has no kernel, and stands for those that it waits for. Before any edge leads to it.
void NewTask::make_sync() {
    task_->kind = TaskKind::sync;
    task_->name = "sync";
    task_->node.store(Task::several_nodes, std::memory_order_relaxed);  // as any of those it stands for
    task_->priority = std::numeric_limits<int>::max();
}

/// A node without a kernel that completes when all of `tasks` have: one dependency instead of many.
TaskRef NewTask::join(const TaskGroup& tasks) {
    NewTask node(graph_, graph_.housekeeping_of(scope_), cache_);
    node.make_sync();
    const TaskRef ref = node.task().ref();
    for (const TaskRef task : tasks) {
        if (task.slot != task_->slot) node.depend_on(task);
    }
    ++order_.sync_nodes;
    if (!node.enter()) return ref;
    node.give_up_node();
    return {};
}

void NewTask::signal_behind(TaskGraph& graph, TaskRef task) {
    Scope& scope = graph.housekeeping();
    const std::lock_guard guard(scope.order.lock);
    NewTask node(graph, scope, graph.slot_cache(scope));
    Task& signal = node.task();
    signal.kind = TaskKind::signal;
    signal.name = "signal";
    signal.node.store(Task::several_nodes, std::memory_order_relaxed);
    node.depend_on(task);
    if (node.enter()) node.give_up_node();
}

/// All tasks that the node stands for have completed already: there is nothing to wait for.
void NewTask::give_up_node() {
    graph_.take_back_count(scope_);
    graph_.pool().give_back_relays(cache_, task_->relay);
    give_up();
}

/// What a task does that combines copies of a reduction.
struct NewTask::Combination {
    enum class Step { all, pair, finish };

    std::shared_ptr<Reduction> reduction;
    Unwritten* unwritten;
    Step step;
    bool overwritten = false;  ///< no task is going to read the result
    std::size_t first = 0;     ///< of a pair
    std::size_t second = 0;    ///< of a pair

    void operator()() const {
        Reduction& r = *reduction;
        // what tasks failed to compute is not worth combining, and may be anything
        const bool wanted = !overwritten && !unwritten->lacks(r.region());
        if (step == Step::pair) {
            if (wanted) r.combine_pair(first, second);
            return;
        }
        if (wanted && step == Step::all) r.combine_range(0, r.copies());
        if (wanted) r.finish();
        const std::string error = r.end();
        if (!error.empty()) unwritten->lose(r.region(), "combining the copies of a reduction failed: " + error);
    }
};

TaskRef NewTask::close(Reduction& reduction) {
    if (reduction.stage() == Reduction::Stage::open) close(graph_, graph_.housekeeping_of(scope_), cache_, reduction);
    return reduction.closing();
}

/// Small copies are combined by one task, large ones by a tree of tasks.
void NewTask::close(TaskGraph& graph, Scope& scope, SlotCache& cache, Reduction& reduction) {
    using enum Combination::Step;
    const std::shared_ptr<Reduction> shared = reduction.shared_from_this();
    const Version& version = *reduction.region().version;
    const bool renamed = version.datum->home_order == scope.order.id && version.datum->current != &version;
    const bool by_several = !renamed && reduction.large() && reduction.copies() > 2;
    NewTask task(graph, scope, cache);
    task.make_internal({.reduction = shared,
                        .unwritten = &graph.unwritten(),
                        .step = by_several ? finish : all,
                        .overwritten = renamed});
    if (by_several) {
        const TaskRef members =
            reduction.members().size() > 1 ? task.join(reduction.members()) : reduction.members().back();
        task.depend_on(members);
        task.depend_on(enter_tree(graph, scope, cache, shared, members, 0, reduction.copies()));
    } else {
        for (const TaskRef member : reduction.members()) task.depend_on(member);
    }
    reduction.close(task.task().ref());
    ProgramOrder& order = scope.order;
    ++order.closed_reductions;
    std::erase(order.open_reductions, shared);
    task.submit();
    if (scope.owner != nullptr) return;  // what closes the reductions of children is one of them
    if (order.closing_reductions.size() >= order.many_closing) {
        std::erase_if(order.closing_reductions, [&](const auto& r) { return graph.completed(r->closing()); });
        order.many_closing = std::max<std::size_t>(32, 2 * order.closing_reductions.size());
    }
    order.closing_reductions.push_back(shared);
}

void NewTask::finish_reductions(TaskGraph& graph, Scope& scope, SlotCache& cache) {
    ProgramOrder& order = scope.order;
    std::erase_if(order.closing_reductions, [&](const auto& r) { return graph.completed(r->closing()); });
    for (const auto& reduction : order.closing_reductions) {
        if (!reduction->has_tasks_of(scope.graph)) continue;
        NewTask node(graph, scope, cache);
        node.make_sync();
        node.depend_on(reduction->closing());
        if (node.enter()) node.give_up_node();
    }
    const std::vector<std::shared_ptr<Reduction>> open = order.open_reductions;
    for (const auto& reduction : open) {
        if (reduction->has_tasks_of(scope.graph)) close(graph, scope, cache, *reduction);
    }
}

/// Tasks that combine copies [begin, end) into the first. Returns the last of them; `before` where there is one copy.
TaskRef NewTask::enter_tree(TaskGraph& graph, Scope& scope, SlotCache& cache,
                            const std::shared_ptr<Reduction>& reduction, TaskRef before, std::size_t begin,
                            std::size_t end) {
    if (end - begin < 2) return before;
    const std::size_t middle = Reduction::middle(begin, end);
    const TaskRef left = enter_tree(graph, scope, cache, reduction, before, begin, middle);
    const TaskRef right = enter_tree(graph, scope, cache, reduction, before, middle, end);
    NewTask task(graph, scope, cache);
    task.make_internal({.reduction = reduction,
                        .unwritten = &graph.unwritten(),
                        .step = Combination::Step::pair,
                        .first = begin,
                        .second = middle});
    task.depend_on(left);
    task.depend_on(right);
    const TaskRef ref = task.task().ref();
    task.submit();
    return ref;
}

/// The task is one of the runtime's own, with this kernel. Before any edge leads to it: who goes along the edge reads
/// what kind of task it is.
void NewTask::make_internal(Combination&& combination) {
    using Ops = PlainOps<Combination, NoKernel>;
    static_assert(Ops::ops.size <= Task::inline_kernel);
    task_->kind = TaskKind::internal;
    task_->name = "combine copies";
    task_->tile = {};
    task_->priority = std::numeric_limits<int>::max();
    task_->max_threads = task_->min_threads = 1;
    task_->ops = &Ops::ops;
    Ops::Source source{std::move(combination), {}};
    Ops::construct(task_->kernel_storage(), &source, nullptr);
}

void NewTask::submit() {
    if (enter()) graph_.run(*task_);
}

}  // namespace basalt::detail
