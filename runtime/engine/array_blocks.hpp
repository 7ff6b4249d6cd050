#pragma once

#include <functional>
#include <vector>

#include "runtime/engine/placement.hpp"
#include "runtime/graph/datum_pool.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// Arrays that are cut into blocks (docs/decisions/0029-parts-of-arrays.md). A block is a datum of its own: it has
/// users, replicas and transfers of its own. Its memory on the host is its array's, which it shares with the array as a
/// whole and with blocks of other partitions.
///
/// Memory that several data share is used through one of them at a time, as program order has it: that one is current,
/// and nothing that overlaps it is. The contents of what is not current are in the host's memory.
///
/// In front of the first user of a datum that becomes current there is a node of the runtime's own, which overwrites,
/// as far as hazards go, that datum and the current ones that overlap it. So it waits for all their users. It reads the
/// other ones that overlap it: nothing has used them since the node that ended their being current, which is the last
/// that wrote them. So every user of some memory is behind every earlier one.
///
/// All members are called under the lock of the array's home order, which is `scope`'s.
class ArrayBlocks {
  public:
    ArrayBlocks(TaskGraph& graph, Placement& placement) : graph_(graph), placement_(placement) {}

    /// The array consists of these blocks, too. Nothing uses them yet.
    void add(Datum& array, Cuts cuts, const std::vector<DatumOwner>& blocks);
    /// The program has given up the block, whose place is given back behind its last user.
    void release(Scope& scope, Datum& block);

    /// What becomes of the contents when a datum becomes current.
    enum class Contents {
        needed,
        overwritten,  ///< all of it, so they need not come home
    };
    /// The datum becomes current, if it shares memory.
    void make_current(Scope& scope, Datum& datum, Contents contents, Purpose purpose) {
        if (datum.shares_memory && !datum.is_current) switch_to(scope, datum, contents, purpose);
    }
    /// All of the task's data become current. Throws UsageError where some of them overlap; contents that the task
    /// would have overwritten are kept then. If the task does not enter the graph later on, they count as lost.
    void make_current(Scope& scope, TaskBuilder& task, Purpose purpose);

  private:
    void switch_to(Scope& scope, Datum& datum, Contents contents, Purpose purpose);
    using Accesses = std::vector<TaskBuilder::WholeAccess>;
    Accesses accesses_to(Scope& scope, const std::vector<Datum*>& data) const;
    bool idle_at_home(const Accesses& accesses) const;
    void submit_node(Scope& scope, const Accesses& accesses, Purpose purpose, std::function<void()> action);

    TaskGraph& graph_;
    Placement& placement_;
};

}  // namespace basalt::detail
