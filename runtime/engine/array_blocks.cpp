#include "runtime/engine/array_blocks.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/graph/array_memory.hpp"
#include "runtime/graph/region_overlap.hpp"

namespace basalt::detail {

namespace {

/// Whether all elements of `inner` are in `outer`; both belong to one array.
bool contains(const Datum& outer, const Datum& inner) {
    const ArrayPart out = outer.part_of_whole(), in = inner.part_of_whole();
    return out.row_begin <= in.row_begin && in.row_end <= out.row_end && out.col_begin <= in.col_begin &&
           in.col_end <= out.col_end;
}

/// The datum, and what overlaps it.
std::vector<Datum*> overlapping(Datum& datum) {
    std::vector<Datum*> found{&datum};
    for_each_overlapping(datum, [&](Datum& other) { found.push_back(&other); });
    return found;
}

/// Whether the task accesses other data that have elements in common with these.
bool overlaps_another(const TaskBuilder& task, const BoundAccess& access) {
    Datum& datum = *access.version->datum;
    return std::any_of(task.access_begin(), task.access_begin() + task.access_count(), [&](const BoundAccess& a) {
        Datum& other = *a.version->datum;
        return &other != &datum && other.shares_memory && &array_of(other) == &array_of(datum) &&
               regions_overlap(other.part_of_whole(), datum.part_of_whole());
    });
}

[[noreturn]] void refuse_overlap(const TaskBuilder& task) {
    const BoundAccess* const begin = task.access_begin();
    const BoundAccess* const end = begin + task.access_count();
    for (const BoundAccess* a = begin; a != end; ++a) {
        for (const BoundAccess* b = begin; b != a; ++b) {
            Datum &one = *a->version->datum, &other = *b->version->datum;
            if (&one == &other || !one.shares_memory || !other.shares_memory) continue;
            if (&array_of(one) != &array_of(other) || !regions_overlap(one.part_of_whole(), other.part_of_whole()))
                continue;
            throw UsageError("task '" + task_label(task.task()) + "' accesses " + other.label() + " and " +
                             one.label() +
                             ", which have elements in common; allowed are blocks of one array that do not overlap, "
                             "such as those of one partition");
        }
    }
    throw UsageError("task '" + task_label(task.task()) + "' accesses blocks that overlap");
}

}  // namespace

void ArrayBlocks::add(Datum& array, Cuts cuts, const std::vector<DatumOwner>& blocks) {
    std::vector<Datum*> data;
    data.reserve(blocks.size());
    for (const DatumOwner& block : blocks) {
        const Index first = block->first_row * array.ld + block->first_col;
        block->current->base =
            static_cast<std::byte*>(array.current->base) + first * static_cast<Index>(array.element_size);
        block->whole = array.current;
        block->shares_memory = true;
        block->home_order = array.home_order;
        data.push_back(block.get());
    }
    if (!array.partitions) {
        array.partitions = std::make_unique<Partitions>();
        array.is_current = true;
    }
    array.partitions->add(std::move(cuts), std::move(data));
    array.shares_memory = true;
}

void ArrayBlocks::make_current(Scope& scope, TaskBuilder& task, Purpose purpose) {
    const BoundAccess* const begin = task.access_begin();
    const BoundAccess* const end = begin + task.access_count();
    // the children of a task use what it holds, whatever is current in the order of the task itself
    const auto is_mine = [&](const Datum& datum) { return datum.shares_memory && datum.home_order == scope.order.id; };
    for (const BoundAccess* access = begin; access != end; ++access) {
        Datum& datum = *access->version->datum;
        if (!is_mine(datum) || datum.is_current) continue;
        const bool overwritten = Coherence::overwritten(task, *access);
        if (overwritten) {
            // before contents are given up that the program keeps when submit() throws
            if (overlaps_another(task, *access)) refuse_overlap(task);
            task.gives_up_contents();
        }
        switch_to(scope, datum, overwritten ? Contents::overwritten : Contents::needed, purpose);
    }
    for (const BoundAccess* access = begin; access != end; ++access) {
        const Datum& datum = *access->version->datum;
        if (is_mine(datum) && !datum.is_current) refuse_overlap(task);
    }
}

void ArrayBlocks::switch_to(Scope& scope, Datum& datum, Contents contents, Purpose purpose) {
    const std::vector<Datum*> data = overlapping(datum);
    for (Datum* other : data) {
        const bool dispensable = contents == Contents::overwritten && contains(datum, *other);
        if (dispensable) other->current->abandon();
    }
    const Accesses accesses = accesses_to(scope, data);
    if (idle_at_home(accesses)) {
        for (Datum* other : data) other->current->abandon();
    } else {
        submit_node(scope, accesses, purpose, {});
    }
    for (Datum* other : data) other->is_current = false;
    datum.is_current = true;
}

void ArrayBlocks::release(Scope& scope, Datum& block) {
    Datum& array = array_of(block);
    array.partitions->remove(&block);
    block.end_registration();
    // later users of the block's memory are behind the array's last writer, see accesses_to()
    Accesses accesses = accesses_to(scope, {&block, &array});
    for (TaskBuilder::WholeAccess& access : accesses) access.mode = AccessMode::readwrite;
    submit_node(scope, accesses, {}, [&block] { DatumPool::of_process().give_back(block); });
}

/// What a node accesses that makes the first one of the data current, which the others overlap.
ArrayBlocks::Accesses ArrayBlocks::accesses_to(Scope& scope, const std::vector<Datum*>& data) const {
    Accesses accesses;
    accesses.reserve(data.size());
    for (Datum* datum : data) {
        if (datum->home_order != scope.order.id) datum->home_order = scope.order.id;  // child tasks may be reading it
        const bool ends_use = datum == data.front() || datum->is_current;
        accesses.push_back({datum->current, ends_use ? AccessMode::readwrite : AccessMode::read});
    }
    return accesses;
}

/// Whether a node with these accesses would have nothing to wait for and nothing to bring home.
bool ArrayBlocks::idle_at_home(const Accesses& accesses) const {
    return std::all_of(accesses.begin(), accesses.end(), [&](const TaskBuilder::WholeAccess& access) {
        const Version& version = *access.version;
        bool idle = (!version.residency || version.residency->valid_on(host_node)) && !version.accesses.in_reduction();
        version.accesses.for_each_user([&](TaskRef user, Use use) {
            const bool both_read = access.mode == AccessMode::read && use == Use::shared;
            idle = idle && (both_read || graph_.completed(user));
        });
        return idle;
    });
}

/// A task behind the users of the data that the accesses wait for, and in front of those to come. The contents of what
/// it writes are in the host's memory then.
void ArrayBlocks::submit_node(Scope& scope, const Accesses& accesses, Purpose purpose, std::function<void()> action) {
    TaskBuilder node(graph_, graph_.housekeeping_of(scope));
    node.make_internal("internal", std::numeric_limits<int>::max());
    node.bind_all(accesses);
    placement_.gather(node, scope, purpose);
    if (action) {
        node.store_action(std::move(action));
    } else {
        node.store_no_kernel();
    }
    node.record_hazards();
    placement_.commit(node, scope, host_node);
    node.submit();
}

}  // namespace basalt::detail
