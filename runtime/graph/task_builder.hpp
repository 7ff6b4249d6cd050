#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "runtime/graph/datum.hpp"
#include "runtime/graph/new_task.hpp"
#include "runtime/graph/reduction.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// The kernel of a task that has none: another thing, such as its device's work, is all that there is to do.
struct NoWork {
    void operator()() const {}
};

/// A task's priority in a graph with a priority of its own.
inline int sum_of_priorities(int task, int graph) {
    const std::int64_t sum = std::int64_t{task} + graph;
    return static_cast<int>(
        std::clamp<std::int64_t>(sum, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

/// The door to the graph: every task, the user's, a transfer or the runtime's own, is made and submitted by one of
/// these. Lives under the scope's lock.
///
/// In order: what the task is (set_options() or make_internal()), its accesses (bind() or bind_all()), where it runs
/// (run_on()), its kernel (store_kernel() or store_action()), record_hazards(), and enter() or submit().
class TaskBuilder {
  public:
    TaskBuilder(TaskGraph& graph, Scope& scope) : TaskBuilder(graph, scope, graph.slot_cache(scope)) {}
    /// Gives the slot back unless the task has entered the graph.
    ~TaskBuilder() {
        if (stage_ != Stage::entered) give_up();
    }
    TaskBuilder(const TaskBuilder&) = delete;
    TaskBuilder& operator=(const TaskBuilder&) = delete;

    TaskGraph& graph() { return graph_; }
    Task& task() { return new_.task(); }
    const Task& task() const { return new_.task(); }
    const BoundAccess* access_begin() const { return task().access_begin(); }
    std::uint32_t access_count() const { return task().access_count; }
    /// Whether some of the data are blocks or are cut into blocks.
    bool shares_memory() const { return shares_memory_; }

    /// A gang gets `most_threads` at most.
    void set_options(const TaskOptions& options, int most_threads) {
        Task& task = new_.task();
        const int most = std::min(options.threads.max, most_threads);
        task.name = options.name.c_str();
        task.tile = options.tile;
        task.step = PackedStep(options.step);
        task.priority = sum_of_priorities(options.priority, scope_.priority);
        task.max_threads = static_cast<std::uint16_t>(most);
        task.min_threads = static_cast<std::uint16_t>(std::min(options.threads.min, most));
        task.patience_us = static_cast<std::uint32_t>(
            std::min<std::int64_t>(options.threads.patience.count(), std::numeric_limits<std::uint32_t>::max()));
        task.gang = most > 1;
        task.near_pinned_memory = options.near_pinned_memory;
    }
    /// The next step of a coroutine, which is a child of that task.
    void make_step(const Task& coroutine);
    /// A task of the runtime's own: it runs even when its graph is cancelled.
    void make_internal(const char* name, int priority);

    /// Fills in `bases`: the address of each record's datum on the host. That of an empty access, which is left out of
    /// the task, is nullptr. Throws UsageError where an access is not allowed in the scope.
    void bind(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases);
    /// The task's accesses: all of each version.
    struct WholeAccess {
        Version* version;
        AccessMode mode;
    };
    void bind_all(const std::vector<WholeAccess>& accesses);
    /// The task's only access: those rows of the version, and all of its columns.
    void bind_all(Version& version, Index row_begin, Index row_end, AccessMode mode);

    /// The task runs on that stream of that device, and uses data on `node` or on Task::several_nodes.
    DeviceWork& run_on(int device, StreamRole role, std::uint8_t node);
    /// The first `count` accesses are to the host's memory whatever node the task runs on: only copies can do that.
    void keep_at_home(std::uint32_t count) { at_home_ = count; }
    /// Where the task uses the data of access `i`, when it runs on `node`.
    Node node_of_access(std::uint32_t i, Node node) const { return i < at_home_ ? host_node : node; }
    /// What the task overwrites has no contents until it runs. They are lost if it does not enter the graph.
    void gives_up_contents() { gives_up_contents_ = true; }
    /// See NewTask::wait_for().
    void wait_for(TaskRef task) { new_.wait_for(task); }

    /// Tasks that the new one follows although it may share no data with them; their handles exist until
    /// record_hazards(). They belong to the same runtime, and none of them is around the new task.
    void follow(std::span<const TaskHandle> tasks, NewTask::Follow how) {
        followed_ = tasks;
        how_ = how;
    }

    /// Has the task take part in a reduction for each of its reduce accesses. bases[i] of such an access becomes the
    /// task's share. `may_be_gang`: with more workers. Throws UsageError where the task uses a part of the region in
    /// another way, too, and for gangs with Order::deterministic.
    void join_reductions(const AccessRecord* records, std::size_t count, const KernelOps& ops, const void* source,
                         void** bases, int workers, bool may_be_gang);
    /// Of the reduce accesses, in their order.
    std::span<const std::shared_ptr<Reduction>> reductions() const { return reductions_; }
    void store_kernel(const KernelOps& ops, void* source, void* const* bases) {
        if (!Task::fits_inline(ops, ops.size_with_room(source))) return store_in_block(ops, source, bases);
        ops.construct(task().kernel.data(), source, bases);
        task().ops = &ops;  // behind construct(), which may throw
    }
    void store_action(std::function<void()> action);
    void store_no_kernel();
    /// Of a graph that is cancelled: the task keeps its place in the order, so that it is known what it did not write.
    void bind_dropped(const TaskOptions& options, const AccessRecord* records, std::size_t count, void** bases);
    void submit_dropped();

    /// Turns the accesses into edges. From here on the graph knows of the task.
    void record_hazards();
    /// The task enters the graph. Returns it where nothing holds it back: then it goes to TaskGraph::run().
    Task* enter() {
        stage_ = Stage::entered;
        return new_.enter() ? &new_.task() : nullptr;
    }
    /// Both at once: the task runs as soon as it may.
    void submit() {
        if (Task* runnable = enter()) graph_.run(*runnable);
    }

    /// Former versions of the datum that are still in use get tasks which wait for the last users; see
    /// Datum::retired_versions. Under the lock of the scope, the datum's home.
    static void retire_former(TaskGraph& graph, Scope& scope, Datum& datum);

  private:
    TaskBuilder(TaskGraph& graph, Scope& scope, SlotCache& cache)
        : graph_(graph), scope_(scope), cache_(cache), new_(graph, scope, cache) {}

    AccessMap& map_of(Version& version) {
        return version.datum->home_order == scope_.order.id ? version.accesses : scope_.order.map_of(&version);
    }
    void record_reduction(AccessMap& map, const BoundAccess& access, const std::shared_ptr<Reduction>& reduction);
    void give_up();
    void lose_overwritten();
    void store_in_block(const KernelOps& ops, void* source, void* const* bases);
    Version& rename(Datum& datum);
    void make_edges_to_followed();
    void commit_renames();
    static void retire(TaskGraph& graph, Scope& scope, Version& version);
    void drop_device_work();

    enum class Stage : std::uint8_t { filled_in, in_maps, entered };

    TaskGraph& graph_;
    Scope& scope_;
    SlotCache& cache_;
    NewTask new_;
    std::uint32_t at_home_ = 0;
    bool shares_memory_ = false;
    bool gives_up_contents_ = false;
    Stage stage_ = Stage::filled_in;
    std::span<const TaskHandle> followed_{};
    NewTask::Follow how_ = NewTask::Follow::if_succeeds;
    VersionList fresh_versions_;
    std::vector<std::shared_ptr<Reduction>> reductions_;
};

}  // namespace basalt::detail
