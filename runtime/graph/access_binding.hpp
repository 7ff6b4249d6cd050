#pragma once

#include <cstddef>

#include "runtime/graph/datum.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// Whether the record names no element: such an access depends on nothing.
inline bool is_empty(const AccessRecord& record) {
    return record.row_begin == record.row_end || record.col_begin == record.col_end;
}

/// Whether the datum has the region.
inline bool has_region(const Datum& datum, const AccessRecord& r) {
    return 0 <= r.row_begin && r.row_begin <= r.row_end && r.row_end <= datum.rows && 0 <= r.col_begin &&
           r.col_begin <= r.col_end && r.col_end <= datum.cols;
}

void check_unusual_region(const TaskGraph& graph, const Scope& scope, const AccessRecord& record, const Task* task);
Version& resolve_elsewhere(Scope& scope, const AccessRecord& record, const Task* task);
bool may_rename_array(const TaskGraph& graph, const AccessRecord& record, const AccessRecord* records,
                      std::size_t count);

/// Throws UsageError where the graph's runtime has no such datum, or the datum no such region. What the program has
/// given up is still there for the children of the tasks that use it. `task`: whose access it is, for messages.
inline void check_region(const TaskGraph& graph, const Scope& scope, const AccessRecord& r,
                         const Task* task = nullptr) {
    const bool exists =
        r.datum != nullptr && r.datum->is(r.generation) && r.datum->graph == &graph && has_region(*r.datum, r);
    if (!exists) check_unusual_region(graph, scope, r, task);
}

/// The version of the datum that the access means in this scope. Throws UsageError where it may not be accessed there:
/// a child may access what its parent holds, no more.
inline Version& resolve(Scope& scope, const AccessRecord& record, const Task* task = nullptr) {
    return record.datum->home_order == scope.order.id ? *record.datum->current : resolve_elsewhere(scope, record, task);
}

/// Whether a task of this scope with these accesses had better get a fresh version of the record's datum, since it
/// overwrites all of it while others use the current one, for whom it would not wait otherwise.
inline bool may_rename(const TaskGraph& graph, const Scope& scope, const AccessRecord& record,
                       const AccessRecord* records, std::size_t count) {
    if (record.mode != AccessMode::write || !record.datum->renameable) return false;
    const Datum& datum = *record.datum;
    if (datum.home_order != scope.order.id) return false;
    const bool all_in_use = datum.in_use_by.valid() && !datum.may_have_unused && !graph.completed(datum.in_use_by);
    if (all_in_use) return false;
    return may_rename_array(graph, record, records, count);
}

/// Whether a task that uses the version, or used it, has not completed.
bool in_use(const TaskGraph& graph, const Version& version);

/// A version for the datum's next contents; nullptr where too many are in use.
Version* fresh_version(const TaskGraph& graph, Datum& datum);

}  // namespace basalt::detail
