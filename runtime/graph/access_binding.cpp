#include "runtime/graph/access_binding.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

std::string describe(const AccessRecord& r) {
    return r.datum->name + r.datum->text_of({r.row_begin, r.row_end, r.col_begin, r.col_end});
}

/// "task 'name': ", or nothing where the access is no task's.
std::string prefix_of(const Task* task) { return task != nullptr ? "task '" + task_label(*task) + "': " : ""; }

/// The parent's accesses must cover the region.
Version& resolve_in_task(Scope& scope, const AccessRecord& record, const Task* task) {
    Version* version = nullptr;
    for (Index covered = record.row_begin; covered < record.row_end;) {
        const BoundAccess* held = scope.held_by_owner.reaching_farthest(record, covered);
        if (held == nullptr) {
            throw UsageError("child " + (task != nullptr ? "task '" + task_label(*task) + "'" : "task") + " accesses " +
                             describe(record) + ", which its parent task '" + scope.owner->name +
                             "' does not hold in that mode; children may access subsets of what their parent accesses");
        }
        version = held->version;
        covered = held->row_end;
    }
    return *version;
}

/// Whether a task with these accesses waits for that user of the datum also as the writer of what it reads. (Of what
/// has many accesses this is not asked.)
bool waits_anyway(const Datum& datum, TaskRef user, const AccessRecord* records, std::size_t count) {
    constexpr std::size_t few_accesses = 16;
    return count <= few_accesses && std::any_of(records, records + count, [&](const AccessRecord& other) {
               return (other.mode == AccessMode::read || other.mode == AccessMode::readwrite) &&
                      other.datum->home_order == datum.home_order &&
                      other.datum->current->accesses.last_written_by(user, other);
           });
}

/// A task that uses the version, or used it, and has not completed; an invalid reference where none is known.
TaskRef user_in_flight(const TaskGraph& graph, const Version& version) {
    TaskRef found{};
    version.accesses.any_user([&](TaskRef user) {
        if (!graph.completed(user)) found = user;
        return found.valid();
    });
    return found;
}

/// The version as an unused one.
Version* cleared(Version& version) {
    version.accesses.clear();
    return &version;
}

}  // namespace

void check_unusual_region(const TaskGraph& graph, const Scope& scope, const AccessRecord& r, const Task* task) {
    const std::string who = prefix_of(task);
    if (r.datum == nullptr)
        throw UsageError(who + "access to an array, matrix, Token or Object that is empty or was released");
    const Datum& datum = *r.datum;
    // the parent holds it, or resolve() throws: as long as the parent runs, the place has no other tenant
    const bool may_be_parents =
        datum.is(r.generation + 1) && scope.owner != nullptr && datum.home_order != scope.order.id;
    if (!datum.is(r.generation) && !may_be_parents) {
        const std::string name = DatumPool::of_process().name_of_former(datum, r.generation);
        if (DatumPool::of_process().was_left(datum)) {
            ProcessMark::refuse_left(who + "access to array or matrix '" + name + "'");
        }
        throw UsageError(who + "access to an array or matrix that was released, or whose Runtime has ended" +
                         (name.empty() ? "" : ": '" + name + "'"));
    }
    if (datum.graph != &graph) {
        throw UsageError(who + "access to '" + datum.name +
                         "', which belongs to another Runtime; allowed are arrays and matrices of the same Runtime");
    }
    if (has_region(datum, r)) return;
    throw UsageError(who + "access to " + describe(r) + ": allowed are rows up to " +
                     std::to_string(datum.by_columns ? datum.cols : datum.rows) + " and columns up to " +
                     std::to_string(datum.by_columns ? datum.rows : datum.cols));
}

Version& resolve_elsewhere(Scope& scope, const AccessRecord& record, const Task* task) {
    if (scope.owner != nullptr) return resolve_in_task(scope, record, task);
    Datum& datum = *record.datum;
    datum.home_order = scope.order.id;  // made in a task that has ended: level 0 is its home from now on
    return *datum.current;
}

bool may_rename_array(const TaskGraph& graph, const AccessRecord& record, const AccessRecord* records,
                      std::size_t count) {
    Datum& datum = *record.datum;
    if (datum.bytes() == 0 || datum.shares_memory) return false;
    if (record.row_begin != 0 || record.row_end != datum.rows) return false;
    if (record.col_begin != 0 || record.col_end != datum.cols) return false;
    const auto times =
        std::count_if(records, records + count, [&](const AccessRecord& other) { return other.datum == &datum; });
    // what other cores write is looked at last
    return times == 1 && datum.current->accesses.any_user([&](TaskRef user) {
        return !waits_anyway(datum, user, records, count) && !graph.completed(user);
    });
}

bool in_use(const TaskGraph& graph, const Version& version) {
    return version.accesses.any_user([&](TaskRef user) { return !graph.completed(user); });
}

Version* fresh_version(const TaskGraph& graph, Datum& datum) {
    constexpr std::size_t most_versions = 16;
    if (!datum.former.empty() && !in_use(graph, datum.former.front())) {
        return cleared(datum.former.pop_front());
    }
    if (datum.may_have_unused) {
        const std::lock_guard guard(datum.retired_lock);
        if (!datum.unused.empty()) return cleared(datum.unused.pop_front());
        datum.may_have_unused = datum.retired_versions > 0;
    }
    if (datum.further.size() == most_versions) {
        if (!datum.former.empty()) datum.in_use_by = user_in_flight(graph, datum.former.front());
        return nullptr;
    }
    auto fresh = std::make_unique<Version>();
    fresh->datum = &datum;
    fresh->owned = HostBuffer(datum.bytes());
    fresh->base = fresh->owned.data();
    return datum.further.emplace_back(std::move(fresh)).get();
}

}  // namespace basalt::detail
