#include "runtime/graph/new_task.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace basalt::detail {

NewTask::NewTask(TaskGraph& graph, Scope& scope, SlotCache& cache)
    : graph_(graph), scope_(scope), order_(scope.order), cache_(cache), task_(&graph.pool().take(cache)) {
    // unique over all orders: a stamp left in a recycled slot never equals a later one
    stamp_ = order_.id << 32 | ((order_.next_stamp += 2) & 0xffffffff);
    Task& task = *task_;
    task.scope = &scope;
    task.ops = nullptr;
    task.kind = TaskKind::user;
    task.commutes = false;
    task.gang = false;
    task.has_regions = false;
    task.used_edges = 0;
    task.recorded.store(0, std::memory_order_relaxed);
    task.relay = TaskRef::none;
    task.access_count = 0;
    task.more_accesses = nullptr;
    task.step = {};
    // relaxed stores: the task is published later, by the edge lists' CAS or by the scheduler's lock
    task.children.store(nullptr, std::memory_order_relaxed);
    task.node.store(host_node, std::memory_order_relaxed);
    task.device_work.store(nullptr, std::memory_order_relaxed);
    task.stamp.store(0, std::memory_order_relaxed);
    task.pending.store(held, std::memory_order_relaxed);
}

bool NewTask::completed(TaskRef ref) const { return graph_.completed(ref); }

void NewTask::depend_on(TaskRef predecessor) {
    if (!predecessor.valid() || predecessor.slot == task_->slot) return;
    if (!block_) {
        add_edge(predecessor, false);
    } else if (stamp(predecessor)) {
        add_candidate(pack(predecessor));
    }
}

/// Whether this task waits for a part of the predecessor only. If it must not, it does so with no broadcast.
bool NewTask::waits_in_part(DeviceWork& self, const DeviceWork& before, bool may) {
    if (!before.has_parts.load(std::memory_order_relaxed)) return false;
    if (!may) self.one_memory.store(false, std::memory_order_relaxed);
    return self.one_memory.load(std::memory_order_relaxed);
}

/// Pushes an edge onto the predecessor's list unless it has completed or already has one to this task. `in_part`: of a
/// broadcast it is enough to wait for what concerns this task's device.
void NewTask::add_edge(TaskRef predecessor, bool in_part) {
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
    link_behind(before, head, predecessor, in_part);
}

/// Pushes the edge. `head`: the list as it was when the predecessor had not completed.
void NewTask::link_behind(Task& before, std::uint64_t head, TaskRef predecessor, bool in_part) {
    DeviceWork* self = task_->on_device();
    // kept: the slot's next tenant may have none
    const DeviceWork* work = self != nullptr ? before.on_device() : nullptr;
    if (work != nullptr) {
        in_part = waits_in_part(*self, *work, in_part);
        self->unfinished.fetch_add(1, std::memory_order_relaxed);
    }
    std::uint32_t* next = nullptr;
    const std::uint32_t edge = new_edge(next);
    do {
        if (Task::generation_of(head) != predecessor.generation) {
            take_back_edge();  // completed meanwhile
            if (work != nullptr) self->unfinished.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
        *next = static_cast<std::uint32_t>(head);
        // release: the predecessor's worker must see `*next` and everything this task needs before `pending`
    } while (!before.successors.compare_exchange_weak(head, (head >> 32) << 32 | edge, std::memory_order_release,
                                                      std::memory_order_acquire));
    note_predecessor(predecessor, work != nullptr && in_part);
    if (work != nullptr && (head & Task::enqueued) != 0) return wait_behind(*work);
    ++edges_;
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
    for_each_candidate([&](std::uint64_t word) { add_edge(unpack(word), true); });
}

/// Block tasks name many regions, most of which lead to the same few tasks or to predecessors of those.
/// A candidate that another candidate waits for is implied by it and needs no edge.
void NewTask::add_pruned_edges() {
    const auto in_part = [](std::uint64_t word) { return (word & Task::in_part) != 0; };
    for_each_candidate([&](std::uint64_t word) {
        const TaskRef candidate = unpack(word);
        if (!in_part(word) || completed(candidate)) return;
        graph_.pool().at(candidate.slot).stamp.store(stamp_, std::memory_order_relaxed);
    });
    for_each_candidate([&](std::uint64_t word) { settle_implied_by(unpack(word)); });
    // first those that are waited for in full: then an edge to a part of the same task is redundant
    for_each_candidate([&](std::uint64_t word) {
        if (!in_part(word)) settle(unpack(word), false);
    });
    for_each_candidate([&](std::uint64_t word) {
        if (in_part(word)) settle(unpack(word), true);
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
void NewTask::settle(TaskRef candidate, bool in_part) {
    Task& before = graph_.pool().at(candidate.slot);
    const std::uint64_t head = before.successors.load(std::memory_order_acquire);
    if (Task::generation_of(head) != candidate.generation) return;
    if (before.stamp.load(std::memory_order_relaxed) == settled_stamp()) {
        ++order_.dropped;
        return;
    }
    before.stamp.store(settled_stamp(), std::memory_order_relaxed);
    link_behind(before, head, candidate, in_part);
}

/// Other candidates that this one waits for need no edge.
void NewTask::settle_implied_by(TaskRef candidate) {
    const Task& task = graph_.pool().at(candidate.slot);
    const std::size_t recorded = task.recorded.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < recorded; ++i) {
        // acquire, here and above: the generation is looked at only afterwards
        const std::uint64_t word = task.predecessors[i].load(std::memory_order_acquire);
        if ((word & Task::in_part) != 0) continue;
        const TaskRef before = unpack(word);
        Task& implied = graph_.pool().at(before.slot);
        // A slot taken by another task meanwhile shows by its generation: of `task`, then the candidate has completed;
        // of `implied`, then the stamp belongs to another candidate.
        if (implied.stamp.load(std::memory_order_relaxed) != stamp_ || completed(before) || completed(candidate))
            continue;
        implied.stamp.store(settled_stamp(), std::memory_order_relaxed);
    }
}

/// A node without a kernel that completes when all of `tasks` have: one dependency instead of many.
TaskRef NewTask::join(const TaskGroup& tasks) {
    NewTask node(graph_, graph_.housekeeping_of(scope_), cache_);
    Task& sync = node.task();
    sync.kind = TaskKind::sync;
    sync.name = "sync";
    sync.node.store(Task::several_nodes, std::memory_order_relaxed);  // as any of those it stands for
    sync.priority = std::numeric_limits<int>::max();
    const TaskRef ref = sync.ref();
    for (const TaskRef task : tasks) {
        if (task.slot != task_->slot) node.depend_on(task);
    }
    ++order_.sync_nodes;
    if (!node.enter()) return ref;
    node.give_up_join();
    return {};
}

/// All tasks that the node stands for have completed already: there is nothing to wait for.
void NewTask::give_up_join() {
    graph_.take_back_count(scope_);
    graph_.pool().give_back_relays(cache_, task_->relay);
    give_up();
}

bool NewTask::enter() {
    order_.edges += static_cast<std::uint64_t>(edges_);
    graph_.count_entered(scope_);
    if (edges_ == 0) {  // no predecessor is going to make it ready
        task_->pending.store(0, std::memory_order_relaxed);
        return true;
    }
    // acq_rel: gathers what completed predecessors wrote, publishes the task to the one that completes last
    const std::int32_t before = task_->pending.fetch_sub(held - edges_, std::memory_order_acq_rel);
    return before == held - edges_;
}

}  // namespace basalt::detail
