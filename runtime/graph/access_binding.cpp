#include "runtime/graph/access_binding.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

std::string describe(const AccessRecord& r) {
    return r.datum->name + " rows [" + std::to_string(r.row_begin) + ", " + std::to_string(r.row_end) + ") columns [" +
           std::to_string(r.col_begin) + ", " + std::to_string(r.col_end) + ")";
}

/// The parent's accesses must cover the region.
Version& resolve_in_task(Scope& scope, const AccessRecord& record) {
    Version* version = nullptr;
    for (Index covered = record.row_begin; covered < record.row_end;) {
        const BoundAccess* held = scope.held_by_owner.reaching_farthest(record, covered);
        if (held == nullptr) {
            throw UsageError("child task accesses " + describe(record) + ", which its parent task '" +
                             scope.owner->name +
                             "' does not hold in that mode; children may access subsets of what their parent accesses");
        }
        version = held->version;
        covered = held->row_end;
    }
    return *version;
}

}  // namespace

void check_unusual_region(const TaskGraph& graph, const Scope& scope, const AccessRecord& r) {
    if (r.datum == nullptr) throw UsageError("access to an array or matrix that is empty or was released");
    const Datum& datum = *r.datum;
    // the parent holds it, or resolve() throws: as long as the parent runs, the place has no other tenant
    const bool may_be_parents =
        datum.is(r.generation + 1) && scope.owner != nullptr && datum.home_order != scope.order.id;
    if (!datum.is(r.generation) && !may_be_parents) {
        const std::string name = DatumPool::of_process().name_of_former(datum, r.generation);
        throw UsageError("access to an array or matrix that was released" + (name.empty() ? "" : ": '" + name + "'"));
    }
    if (datum.graph != &graph) {
        throw UsageError("access to '" + datum.name +
                         "', which belongs to another Runtime; allowed are arrays and matrices of the same Runtime");
    }
    if (has_region(datum, r)) return;
    throw UsageError("access to " + describe(r) + ": allowed are rows up to " + std::to_string(datum.rows) +
                     " and columns up to " + std::to_string(datum.cols));
}

Version& resolve_elsewhere(Scope& scope, const AccessRecord& record) {
    if (scope.owner != nullptr) return resolve_in_task(scope, record);
    Datum& datum = *record.datum;
    datum.home_order = scope.order.id;  // made in a task that has ended: level 0 is its home from now on
    return *datum.current;
}

bool may_rename_array(const AccessRecord& record, const AccessRecord* records, std::size_t count,
                      const DependencySink& sink) {
    constexpr int most_versions = 16;
    Datum& datum = *record.datum;
    if (datum.bytes() == 0) return false;
    if (record.row_begin != 0 || record.row_end != datum.rows) return false;
    if (record.col_begin != 0 || record.col_end != datum.cols) return false;
    const auto times =
        std::count_if(records, records + count, [&](const AccessRecord& other) { return other.datum == &datum; });
    if (times != 1 || !datum.current->accesses.busy(sink)) return false;
    const std::lock_guard guard(datum.retired_lock);
    return datum.retired_versions < most_versions;
}

std::unique_ptr<Version> fresh_version(Datum& datum) {
    auto fresh = std::make_unique<Version>();
    fresh->datum = &datum;
    {
        const std::lock_guard guard(datum.retired_lock);
        if (!datum.spare_buffers.empty()) {
            fresh->owned = std::move(datum.spare_buffers.back());
            datum.spare_buffers.pop_back();
        }
    }
    if (fresh->owned.data() == nullptr) fresh->owned = HostBuffer(datum.bytes());
    fresh->base = fresh->owned.data();
    return fresh;
}

}  // namespace basalt::detail
