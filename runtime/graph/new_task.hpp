#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/graph/access_map.hpp"
#include "runtime/graph/reduction.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// A task that is on its way into the graph: its slot, and the edges that lead to it. Lives under the lock of the
/// scope's program order.
class NewTask final : public DependencySink {
  public:
    NewTask(TaskGraph& graph, Scope& scope, SlotCache& cache);
    NewTask(const NewTask&) = delete;
    NewTask& operator=(const NewTask&) = delete;

    Task& task() { return *task_; }
    const Task& task() const { return *task_; }

    /// From now on edges are pruned before they are made: for block tasks, which have many accesses.
    void collect_candidates() { block_ = true; }
    /// A task to wait for in addition to what the accesses demand, as far as it concerns the memory of this task's
    /// device. Takes effect in make_edges().
    void wait_for(TaskRef task) {
        if (task.valid()) add_candidate(pack(task) | Task::in_part);
    }
    /// Makes the edges that were collected: all predecessors are known.
    void make_edges() {
        if (candidates_ > 0) add_collected_edges();
    }

    /// What becomes of a task that follows one that does not succeed.
    enum class Follow : std::uint8_t {
        if_succeeds,  ///< it is dropped
        always,       ///< it runs
    };
    /// An edge from any task of the runtime, to be made before those of hazards: none of them replaces it, but it may
    /// replace them. False where the task has completed already.
    bool follow(TaskRef task, Follow follow);

    /// Has threads woken that wait, when the task has completed. Takes the lock of level 0.
    static void signal_behind(TaskGraph& graph, TaskRef task);

    /// The task enters the graph. True: nothing holds it back, and the caller has it run.
    bool enter() {
        order_.edges += static_cast<std::uint64_t>(edges_);
        graph_.count_entered(scope_);
        if (edges_ == 0) {  // no predecessor is going to make it ready
            task_->pending.store(0, std::memory_order_relaxed);
            return true;
        }
        // acq_rel: gathers what completed predecessors wrote, publishes the task to the one that completes last
        return task_->let_go(held - edges_);
    }
    /// The slot goes back to the pool: no edge leads to the task, nor does any map know of it.
    void give_up() { graph_.pool().give_back(cache_, task_->slot); }

    void depend_on(TaskRef predecessor) override;
    bool completed(TaskRef task) const override;
    TaskRef join(const TaskGroup& tasks) override;
    TaskRef close(Reduction& reduction) override;

    /// The scope, a graph or the children of a task, counts as done only when the results of its reductions are there:
    /// closes those that are open, and waits for those that others closed. Under the order's lock, by a thread that
    /// `cache` belongs to.
    static void finish_reductions(TaskGraph& graph, Scope& scope, SlotCache& cache);

  private:
    struct Combination;

    static void close(TaskGraph& graph, Scope& scope, SlotCache& cache, Reduction& reduction);
    static TaskRef enter_tree(TaskGraph& graph, Scope& scope, SlotCache& cache,
                              const std::shared_ptr<Reduction>& reduction, TaskRef before, std::size_t begin,
                              std::size_t end);
    void make_internal(Combination&& combination);
    void submit();
    static std::uint64_t pack(TaskRef ref) { return static_cast<std::uint64_t>(ref.generation) << 32 | ref.slot; }
    /// What of a predecessor is waited for: of a broadcast the part that concerns this task's device may be enough.
    enum class Awaited : bool { whole, part };
    static Awaited awaited_of(std::uint64_t word) {
        return (word & Task::in_part) != 0 ? Awaited::part : Awaited::whole;
    }
    static Awaited awaited_on_device(DeviceWork& self, const DeviceWork& before, Awaited least);

    static TaskRef unpack(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>((word & ~Task::in_part) >> 32)};
    }
    /// What the stamp of a candidate becomes once it needs no edge: it has one, or another one implies it. Stamps are
    /// even.
    std::uint64_t settled_stamp() const { return stamp_ + 1; }

    static constexpr std::int32_t held = 1 << 30;

    void add_edge(TaskRef predecessor, Awaited awaited);
    bool link_behind(Task& before, std::uint64_t head, TaskRef predecessor, Awaited awaited, std::uint32_t mark = 0);
    bool link_on_devices(Task& before, const DeviceWork& work, std::uint64_t head, TaskRef predecessor, Awaited awaited,
                         std::uint32_t mark);
    bool push_edge(Task& before, std::uint64_t& head, TaskRef predecessor, std::uint32_t mark);
    void take_back_edge();
    void add_candidate(std::uint64_t word) {
        if (candidates_ < few_candidates) {
            first_candidates_[candidates_] = word;
        } else {
            more_candidates_.push_back(word);
        }
        ++candidates_;
    }
    template <class F>
    void for_each_candidate(const F& visit);
    void add_collected_edges();
    void add_pruned_edges();
    bool stamp(TaskRef predecessor);
    void settle_implied_by(TaskRef candidate);
    void settle(TaskRef candidate, Awaited awaited);
    void wait_behind(const DeviceWork& before);
    void make_sync();
    void give_up_node();
    /// Kept for those who look for redundant edges, and for the trace.
    void note_predecessor(TaskRef predecessor, Awaited awaited) {
        const std::size_t known = task_->recorded.load(std::memory_order_relaxed);
        if (known == Task::recorded_predecessors) return;
        const std::uint64_t mark = awaited == Awaited::part ? Task::in_part : 0;
        task_->predecessors[known].store(pack(predecessor) | mark, std::memory_order_release);
        task_->recorded.store(static_cast<std::uint8_t>(known + 1), std::memory_order_release);
    }
    std::uint32_t new_edge(std::uint32_t*& next) {
        if (task_->relay != TaskRef::none || task_->used_edges == Task::inline_edges) return new_relay_edge(next);
        next = &task_->next_edge[task_->used_edges];
        return TaskPool::edge(task_->slot, task_->used_edges++);
    }
    std::uint32_t new_relay_edge(std::uint32_t*& next);

    TaskGraph& graph_;
    Scope& scope_;
    ProgramOrder& order_;  ///< the scope's
    SlotCache& cache_;
    Task* task_;
    std::uint64_t stamp_;
    std::int32_t edges_ = 0;
    std::uint32_t relay_used_ = 0;
    bool block_ = false;

    /// Tasks to wait for that have no edge yet, as entries of Task::predecessors: of block tasks all, of others what
    /// wait_for() was told. The first of them need no memory.
    static constexpr std::size_t few_candidates = 64;
    std::size_t candidates_ = 0;
    std::array<std::uint64_t, few_candidates> first_candidates_;
    std::vector<std::uint64_t> more_candidates_;
};

}  // namespace basalt::detail
