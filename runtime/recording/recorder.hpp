#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "basalt/task_handle.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/recording/recorded_graph.hpp"

namespace basalt::detail {

/// Takes in tasks that are recorded instead of submitted, and finds the edges between them. Used by one thread.
class Recorder final : private DependencySink {
  public:
    struct Machine {
        int workers;  ///< the most that a gang gets
        bool has_gpus;
    };
    Recorder(TaskGraph& graph, const Machine& machine);

    /// A task as it was submitted.
    struct Call {
        const TaskOptions& options;
        std::span<const AccessRecord> records;
        const KernelOps& ops;
        void* source;
        std::span<const TaskHandle> after;
    };
    /// Under the lock of the runtime's program order. Returns what the task's handle is made of. Throws UsageError for
    /// data that a task must not access, for what cannot be recorded, and for tasks to follow that are not part of the
    /// recording.
    Submitted add(const Call& call);
    /// To be called once.
    std::unique_ptr<RecordedGraph> finish();

  private:
    using Edge = std::pair<std::uint32_t, std::uint32_t>;
    /// Edges by the node from which they lead, by numbers in program order; nodes for many readers come last.
    struct SortedEdges {
        std::vector<std::uint32_t> first;  ///< of each node in `all`, and the end
        std::vector<std::uint32_t> all;    ///< of a node, the one to run last first
        std::vector<std::uint32_t> predecessor_counts;
        std::vector<std::uint32_t> roots;
        std::span<const std::uint32_t> from(std::uint32_t node) const {
            return std::span(all).subspan(first[node], first[node + 1] - first[node]);
        }
    };
    struct KnownDatum {
        std::uint32_t number;
        AccessMap users;
        std::vector<RecordedUse> uses;
    };

    void depend_on(TaskRef predecessor) override;
    bool completed(TaskRef) const override { return false; }
    TaskRef join(const TaskGroup& tasks) override;
    TaskRef close(Reduction&) override { return {}; }  // what reduces is refused, see add()

    void check(const TaskOptions& options, const AccessRecord& record) const;
    void refuse_overlap(const TaskOptions& options, Datum& datum) const;
    void check_followed(const TaskOptions& options, std::span<const TaskHandle> after) const;
    void follow(std::span<const TaskHandle> after);
    KnownDatum& know(const TaskOptions& options, const AccessRecord& record);
    static void note_use(std::vector<RecordedUse>& uses, const RecordedUse& use);
    void make_nodes();
    std::vector<std::uint32_t> rank_priorities();
    SortedEdges sorted_edges(const std::vector<std::uint32_t>& ranks);
    std::vector<std::uint32_t> order_of_one_worker(const std::vector<std::uint32_t>& ranks,
                                                   const SortedEdges& edges) const;

    TaskGraph& graph_;
    const std::uint64_t id_;  ///< tells its tasks from those of other recordings
    const Machine machine_;
    std::unique_ptr<RecordedGraph> recorded_;
    std::unordered_map<const Datum*, KnownDatum> known_;
    std::vector<Edge> edges_;  ///< predecessor, successor
    std::uint32_t current_ = 0;
    std::uint32_t joined_ = 0;  ///< nodes that stand for many readers
    /// The last node to which an edge leads from each task, and from each node for many readers.
    std::vector<std::uint32_t> last_successor_;
    std::vector<std::uint32_t> last_successor_of_joined_;
};

}  // namespace basalt::detail
