#pragma once

#include <cstdint>
#include <vector>

#include "runtime/graph/access_map.hpp"
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
        if (task.valid()) candidates_.push_back({task, true});
    }
    /// Makes the edges that were collected: all predecessors are known.
    void make_edges() {
        if (!candidates_.empty()) add_collected_edges();
    }

    /// The task enters the graph. True: nothing holds it back, and the caller has it run.
    bool enter();
    /// The slot goes back to the pool: no edge leads to the task, nor does any map know of it.
    void give_up() { graph_.pool().give_back(cache_, task_->slot); }

    void depend_on(TaskRef predecessor) override;
    bool completed(TaskRef task) const override;
    TaskRef join(const TaskGroup& tasks) override;

  private:
    static std::uint64_t pack(TaskRef ref) { return static_cast<std::uint64_t>(ref.generation) << 32 | ref.slot; }
    static bool waits_in_part(DeviceWork& self, const DeviceWork& before, bool may);

    static constexpr std::int32_t held = 1 << 30;

    void add_edge(TaskRef predecessor, bool in_part);
    void take_back_edge();
    void add_collected_edges();
    void add_pruned_edges();
    void sort_candidates();
    std::vector<std::uint64_t> implied_predecessors() const;
    void wait_behind(const DeviceWork& before);
    void give_up_join();
    /// Kept for those who look for redundant edges, and for the trace.
    void note_predecessor(TaskRef predecessor, bool in_part) {
        const std::size_t known = task_->recorded.load(std::memory_order_relaxed);
        if (known == Task::recorded_predecessors) return;
        task_->predecessors[known].store(pack(predecessor) | (in_part ? Task::in_part : 0), std::memory_order_release);
        task_->recorded.store(static_cast<std::uint8_t>(known + 1), std::memory_order_release);
    }
    std::uint32_t new_edge(std::uint32_t*& next) {
        if (task_->relay != TaskRef::none || task_->used_edges == Task::inline_edges) return new_relay_edge(next);
        next = &task_->next_edge[task_->used_edges];
        return TaskPool::edge(task_->slot, task_->used_edges++);
    }
    std::uint32_t new_relay_edge(std::uint32_t*& next);

    struct Candidate {
        TaskRef task;
        bool in_part;
    };

    TaskGraph& graph_;
    Scope& scope_;
    ProgramOrder& order_;  ///< the scope's
    SlotCache& cache_;
    Task* task_;
    std::uint64_t stamp_;
    std::int32_t edges_ = 0;
    std::uint32_t relay_used_ = 0;
    bool block_ = false;
    std::vector<Candidate> candidates_;  ///< of block tasks all, of others what wait_for() was told
};

}  // namespace basalt::detail
