#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "basalt/reduction.hpp"
#include "base/host_memory.hpp"
#include "runtime/graph/access_map.hpp"

namespace basalt::detail {

class Scope;
class TaskGraph;

/// Tasks that reduce into one region together, each into a private copy, and the copies.
///
/// Life: the first task opens it, equal accesses join it, and the first other use of the region, or a wait(), closes
/// it: tasks of the runtime's own combine the copies behind all that joined. Access maps, the program order (as long as
/// it is open) and the tasks that combine share it. The tasks that reduce only refer to it: those that combine come
/// behind them.
///
/// The lock of the program order guards all but the copies. A copy belongs to the worker of its place, or, if the order
/// is deterministic, to the tasks that share it, which run one after the other; then to the tasks that combine.
/// Dependencies order these uses. Spare threads share a place, so each of them has a copy of its own besides.
class Reduction : public std::enable_shared_from_this<Reduction> {
  public:
    /// What a task's kernel knows of it.
    struct Share {
        Reduction* reduction;
        std::size_t copy;
    };

    Reduction(const TaskGraph& graph, const BoundAccess& region, void* base, const ReductionSpec& spec,
              std::size_t workers);
    Reduction(const Reduction&) = delete;
    Reduction& operator=(const Reduction&) = delete;

    /// Whether a task with this access joins it. It is not closed.
    bool takes(const BoundAccess& region, const ReductionSpec& spec) const;
    const BoundAccess& region() const { return region_; }

    enum class Stage { fresh, open, closed };
    Stage stage() const { return stage_; }
    /// `before`: what its tasks wait for.
    void open(TaskRef before) {
        before_ = before;
        stage_ = Stage::open;
    }
    /// `task`: behind it, the result is in the region.
    void close(TaskRef task) {
        closing_ = task;
        stage_ = Stage::closed;
    }
    TaskRef closing() const { return closing_; }

    /// For the kernel of the task that joins next.
    Share* next_share() { return &shares_[deterministic_ ? next_ : 0]; }
    /// The task joins.
    void add(TaskRef task, const Scope& graph, DependencySink& sink);
    /// The last tasks that use the copies.
    const TaskGroup& members() const { return members_; }
    /// Whether a task of the graph joined. (A graph at the address of one that is gone may be taken for it.)
    bool has_tasks_of(const Scope& graph) const;

    // -- while tasks run
    /// The copy of the share on the calling thread, which works a place. Throws what making it throws.
    void* copy_for(const Share& share);
    /// Copies, used or not.
    std::size_t copies() const { return copies_.size(); }
    /// Whether combining two copies is work enough for a task.
    bool large() const;
    /// Combines copies [begin, end) in a tree, into the first of them.
    void combine_range(std::size_t begin, std::size_t end) noexcept;
    /// Combines two copies, into the first.
    void combine_pair(std::size_t first, std::size_t second) noexcept;
    /// Combines copy 0, and those of spare threads, with what is in the region.
    void finish() noexcept;
    /// Frees the copies. What was thrown meanwhile; empty if nothing was.
    std::string end() noexcept;

    /// Where combine_range() cuts the range.
    static std::size_t middle(std::size_t begin, std::size_t end) { return begin + (end - begin + 1) / 2; }

  private:
    static constexpr std::size_t deterministic_copies = 32;

    /// `from` may be empty, and so may `into`, which takes it over then.
    void combine_copies(HostBuffer& into, HostBuffer from) noexcept;
    void note_error() noexcept;

    const TaskGraph& graph_;
    const BoundAccess region_;
    void* const target_;  ///< the region's first element
    const ReductionOps& ops_;
    const ViewShape shape_;  ///< of the region
    const bool deterministic_;
    std::vector<std::byte> identity_;

    Stage stage_ = Stage::fresh;
    TaskRef before_;
    TaskRef closing_;
    std::size_t next_ = 0;       ///< copy of the next task, if deterministic
    std::vector<TaskRef> last_;  ///< of each copy, if deterministic
    TaskGroup members_;
    std::vector<const Scope*> graphs_;
    std::vector<Share> shares_;

    HostBuffer& copy_of_thread();

    std::vector<HostBuffer> copies_;          ///< unused ones are empty
    std::mutex spares_lock_;                  // guards the map, not the copies in it
    std::map<int, HostBuffer> spare_copies_;  ///< by Worker::number
    std::mutex error_lock_;                   // guards error_, which several tasks that combine may set
    std::string error_;
};

}  // namespace basalt::detail
