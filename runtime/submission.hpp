#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/device/device_work.hpp"
#include "runtime/engine.hpp"
#include "runtime/memory/residency.hpp"

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
    const BoundAccess* access_begin() const { return static_cast<const Task*>(task_)->access_begin(); }
    std::uint32_t access_count() const { return task_->access_count; }
    /// The place in the list of accesses that was handed in; empty ones are left out of the task.
    std::size_t access_position(std::uint32_t access) const { return positions_[access]; }
    int priority() const { return task_->priority; }
    std::string label() const;

    void set_options(const TaskOptions& options, int most_threads);
    void bind_accesses(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases);
    /// Decides where the task runs and has its data moved there; `bases` change to that node's addresses.
    void place(const TaskOptions& options, const KernelOps& ops, void** bases);
    void store_kernel(const KernelOps& ops, void* source, void* const* bases);

    /// For tasks of the runtime's own that a device runs: the kernel is `DeviceWork::operation`.
    /// Has the contents brought into the host's memory first.
    void bring_home(Version& version);
    DeviceWork& make_runtime_work(int device, StreamRole role, const char* name, int priority,
                                  const std::array<int, 3>& tile);
    void bind_all_rows(Version& version, Index row_begin, Index row_end);

    /// A task to wait for beside what the accesses demand, as far as it concerns the memory of this task's device. Takes
    /// effect in record_hazards().
    void wait_for(TaskRef task) {
        if (task.valid()) waits_.push_back(task);
    }

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
    void depend_on(TaskRef predecessor, bool in_part);
    void add_edge(TaskRef predecessor, bool in_part);
    bool waits_in_part(const Task& before, bool may);
    void wait_behind(const DeviceWork& before);
    void note_predecessor(TaskRef predecessor, bool in_part);
    Node choose_node(const TaskOptions& options, const KernelOps& ops) const;
    void make_device_task(int device, StreamRole role);
    void release_device_work(Task& task);
    void add_pruned_edges();
    std::uint32_t new_edge(std::uint32_t*& next);

    Engine& engine_;
    Scope& scope_;
    SlotCache& cache_;
    Task* task_;
    std::uint64_t stamp_;
    std::int32_t edges_ = 0;
    std::int32_t unfinished_ = 0;  ///< edges between device tasks
    std::uint32_t relay_used_ = 0;
    bool block_ = false;
    bool released_ = false;
    bool hazards_begun_ = false;
    struct Candidate {
        TaskRef task;
        bool in_part;
    };
    std::vector<Candidate> candidates_;
    std::vector<TaskRef> waits_;
    std::vector<std::uint32_t> positions_;  ///< kept where there are devices
    std::vector<std::unique_ptr<Version>> fresh_versions_;
};

}  // namespace basalt::detail
