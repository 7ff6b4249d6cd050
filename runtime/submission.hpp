#pragma once

#include <algorithm>
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
    /// Where the task uses what access number i names, when it runs on `node`.
    Node node_of_access(std::uint32_t i, Node node) const { return i < at_home_ ? host_node : node; }
    int priority() const { return task_->priority; }
    int step() const { return task_->step; }
    std::string label() const;

    void set_options(const TaskOptions& options, int most_threads) {
        Task& task = *task_;
        const int most = std::min(options.threads.max, most_threads);
        task.name = options.name.c_str();
        task.tile = options.tile;
        task.step = options.step;
        task.priority = options.priority;
        task.max_threads = static_cast<std::uint16_t>(most);
        task.min_threads = static_cast<std::uint16_t>(std::min(options.threads.min, most));
        task.gang = most > 1;
        task.near_pinned_memory = options.near_pinned_memory;
    }
    void bind_accesses(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases);
    /// Decides where the task runs and has its data moved there; `bases` change to that node's addresses. Those of
    /// empty accesses, which are left out of the task, are nullptr.
    void place(const TaskOptions& options, const KernelOps& ops, void** bases);
    /// The same for a task that runs on one stream of one device and nowhere else. The first `at_home` accesses are to
    /// the host's memory, which only copies can do. Throws DeviceError where the device is lost.
    DeviceWork& place_on_stream(int device, StreamRole role, void** bases, std::uint32_t at_home = 0);
    void store_kernel(const KernelOps& ops, void* source, void* const* bases);

    /// For tasks of the runtime's own that a device runs: the kernel is `DeviceWork::operation`.
    /// Has the contents brought into the host's memory first.
    void bring_home(Version& version);
    DeviceWork& make_runtime_work(int device, StreamRole role, const char* name, int priority,
                                  const std::array<int, 3>& tile);
    void bind_all_rows(Version& version, Index row_begin, Index row_end);

    /// A task to wait for beside what the accesses demand, as far as it concerns the memory of this task's device.
    /// Takes effect in record_hazards().
    void wait_for(TaskRef task) {
        if (task.valid()) candidates_.push_back({task, true});
    }

    /// Turns the bound accesses into edges.
    void record_hazards();

    /// Lets the task go. True: nothing holds it back and the caller has to make it ready.
    bool released();

    void depend_on(TaskRef predecessor) override;
    bool completed(TaskRef task) const override;
    TaskRef join(const TaskGroup& tasks) override;

  private:
    static std::uint64_t pack(TaskRef ref) { return static_cast<std::uint64_t>(ref.generation) << 32 | ref.slot; }

    /// More accesses than this make a block task, whose edges are pruned before they are made.
    static constexpr std::size_t block_accesses = 4;
    static constexpr std::int32_t held = 1 << 30;

    Version& resolve(const AccessRecord& record);
    Version& resolve_in_task(const AccessRecord& record) const;
    bool may_rename(const AccessRecord& record, const AccessRecord* records, std::size_t count) const;
    Version& prepare_rename(Datum& datum);
    void commit_renames();
    void add_edge(TaskRef predecessor, bool in_part);
    static bool waits_in_part(DeviceWork& self, const DeviceWork& before, bool may);
    void wait_behind(const DeviceWork& before);
    /// Kept for those who look for redundant edges, and for the trace.
    void note_predecessor(TaskRef predecessor, bool in_part) {
        const std::size_t known = task_->recorded.load(std::memory_order_relaxed);
        if (known == Task::recorded_predecessors) return;
        task_->predecessors[known].store(pack(predecessor) | (in_part ? Task::in_part : 0), std::memory_order_release);
        task_->recorded.store(static_cast<std::uint8_t>(known + 1), std::memory_order_release);
    }
    Node choose_node(const TaskOptions& options, const KernelOps& ops) const;
    void make_device_task(int device, StreamRole role);
    void release_device_work(Task& task);
    void add_pruned_edges();
    std::uint32_t new_edge(std::uint32_t*& next) {
        if (task_->relay != TaskRef::none || task_->used_edges == Task::inline_edges) return new_relay_edge(next);
        next = &task_->next_edge[task_->used_edges];
        return TaskPool::edge(task_->slot, task_->used_edges++);
    }
    std::uint32_t new_relay_edge(std::uint32_t*& next);

    Engine& engine_;
    Scope& scope_;
    SlotCache& cache_;
    Task* task_;
    std::uint64_t stamp_;
    std::int32_t edges_ = 0;
    std::uint32_t relay_used_ = 0;
    std::uint32_t at_home_ = 0;  ///< accesses, the first ones, that are at home whatever the task's node
    bool block_ = false;
    bool released_ = false;
    bool hazards_begun_ = false;
    struct Candidate {
        TaskRef task;
        bool in_part;
    };
    std::vector<Candidate> candidates_;  ///< of block tasks all, of others what wait_for() was told
    std::vector<std::unique_ptr<Version>> fresh_versions_;
};

}  // namespace basalt::detail
