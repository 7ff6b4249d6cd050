#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/engine.hpp"

namespace basalt::detail {

/// One task on its way into the graph: collects its hazards as edges. Lives under the scope's lock.
class TaskSubmission final : public DependencySink {
  public:
    TaskSubmission(Engine& engine, Scope& scope, SlotCache& cache);
    /// Gives the slot back unless released() was called.
    ~TaskSubmission();
    TaskSubmission(const TaskSubmission&) = delete;
    TaskSubmission& operator=(const TaskSubmission&) = delete;

    Task& task() { return *task_; }

    void bind_accesses(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases);
    void store_kernel(const KernelOps& ops, void* source, void* const* bases);

    /// Turns the bound accesses into edges.
    void record_hazards();

    /// Lets the task go. True: nothing holds it back and the caller has to make it ready.
    bool released();

    void depend_on(TaskRef predecessor) override;
    bool completed(TaskRef task) const override;
    TaskRef join(const TaskGroup& tasks) override;

  private:
    /// More accesses than this make a block task, whose edges are pruned before they are made.
    static constexpr std::size_t block_accesses = 4;
    static constexpr std::int32_t held = 1 << 30;

    Version& resolve(const AccessRecord& record);
    Version& resolve_in_task(const AccessRecord& record) const;
    bool may_rename(const AccessRecord& record, const AccessRecord* records, std::size_t count) const;
    Version& prepare_rename(Datum& datum);
    void commit_renames();
    void add_edge(TaskRef predecessor);
    void add_pruned_edges();
    std::uint32_t new_edge(std::uint32_t*& next);

    Engine& engine_;
    Scope& scope_;
    SlotCache& cache_;
    Task* task_;
    std::uint64_t stamp_;
    std::int32_t edges_ = 0;
    std::uint32_t relay_used_ = 0;
    bool block_ = false;
    bool released_ = false;
    bool hazards_begun_ = false;
    std::vector<TaskRef> candidates_;
    std::vector<std::unique_ptr<Version>> fresh_versions_;
};

}  // namespace basalt::detail
