#include "runtime/graph/unwritten.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/datum.hpp"
#include "runtime/graph/device_work.hpp"
#include "runtime/graph/region_overlap.hpp"

namespace basalt::detail {

namespace {

using Part = Unwritten::Part;

/// The version under which its contents are known: its array's for a block.
const Version* whole_of(const Version& version) {
    return version.datum->whole != nullptr ? version.datum->whole : &version;
}

Part part_of(const BoundAccess& access) {
    const Datum& datum = *access.version->datum;
    return {datum.first_row + access.row_begin, datum.first_row + access.row_end, datum.first_col + access.col_begin,
            datum.first_col + access.col_end};
}

Part all_of(const Version& version) { return version.datum->part_of_whole(); }

bool covers(const Part& outer, const Part& inner) {
    return outer.row_begin <= inner.row_begin && inner.row_end <= outer.row_end && outer.col_begin <= inner.col_begin &&
           inner.col_end <= outer.col_end;
}

Part common_part(const Part& a, const Part& b) {
    return {std::max(a.row_begin, b.row_begin), std::min(a.row_end, b.row_end), std::max(a.col_begin, b.col_begin),
            std::min(a.col_end, b.col_end)};
}

/// visit(part) for what is left of `part` without `hole`, which overlaps it: at most four.
template <class Visit>
void for_each_rest(const Part& part, const Part& hole, const Visit& visit) {
    const Index top = std::max(part.row_begin, hole.row_begin);
    const Index bottom = std::min(part.row_end, hole.row_end);
    if (part.row_begin < top) visit(Part{part.row_begin, top, part.col_begin, part.col_end});
    if (bottom < part.row_end) visit(Part{bottom, part.row_end, part.col_begin, part.col_end});
    if (part.col_begin < hole.col_begin) visit(Part{top, bottom, part.col_begin, hole.col_begin});
    if (hole.col_end < part.col_end) visit(Part{top, bottom, hole.col_end, part.col_end});
}

/// The same for any two: all of `part` where they do not overlap.
template <class Visit>
void subtract(const Part& part, const Part& hole, const Visit& visit) {
    regions_overlap(part, hole) ? for_each_rest(part, hole, visit) : visit(part);
}

/// A task on a device: its number in program order. Others: 0, since they begin when all before them have completed.
std::uint64_t order_of(const Task& task) { return task.on_device() != nullptr ? task.on_device()->order : 0; }

/// Whether an entry of that order is of a task in front of this one.
bool is_before(std::uint64_t order, const Task& task) { return task.on_device() == nullptr || order < order_of(task); }

bool overwrites(const Task& task) {
    const BoundAccess* const begin = task.access_begin();
    return std::any_of(begin, begin + task.access_count,
                       [](const BoundAccess& access) { return access.mode == AccessMode::write; });
}

template <class F>
void for_each_access(const Task& task, const F& visit) {
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count; ++i) visit(access[i]);
}

}  // namespace

void Unwritten::count() {
    // relaxed: see any()
    entries_.store(parts_.size() + failed_.size() + doomed_.size(), std::memory_order_relaxed);
}

void Unwritten::fail(const Task& task, const std::string& reason) {
    const std::lock_guard guard(lock_);
    if (!is_users(task.kind)) return;  // transfers only read; see lose()
    const auto [failed, fresh] = failed_.try_emplace(&task, std::make_shared<const std::string>(reason));
    if (fresh) add_writes(task, failed->second);
    count();
}

void Unwritten::doom(const Task& task, const std::string& reason) {
    const std::lock_guard guard(lock_);
    doomed_.try_emplace(&task, std::make_shared<const std::string>(reason));
    count();
}

/// Notes a doomed task as failed.
std::optional<Unwritten::Refusal> Unwritten::refuse_doomed(const Task& task) {
    const auto doomed = doomed_.find(&task);
    if (doomed == doomed_.end()) return std::nullopt;
    const Reason reason = doomed->second;
    doomed_.erase(doomed);
    failed_.try_emplace(&task, reason);
    add_writes(task, reason);
    return Refusal{Refusal::Cause::predecessor, "a task that it follows did not succeed: " + *reason};
}

std::optional<Unwritten::Refusal> Unwritten::begin(const Task& task) {
    const std::lock_guard guard(lock_);
    if (auto refusal = refuse_doomed(task)) {
        count();
        return refusal;
    }
    if (const auto missing = missing_for(task)) {
        failed_.try_emplace(&task, missing->entry.reason);
        add_writes(task, missing->entry.reason);
        count();
        return Refusal{Refusal::Cause::data, describe(*missing)};
    }
    clear_writes(task, Cleared::overwritten);
    count();
    return std::nullopt;
}

void Unwritten::overwriting(const Task& task) {
    if (!is_users(task.kind) || !overwrites(task)) return;
    const std::lock_guard guard(lock_);
    overwriting_.push_back(&task);
}

void Unwritten::overwritten(const Task& task) {
    if (!is_users(task.kind) || !overwrites(task)) return;
    const std::lock_guard guard(lock_);
    std::erase(overwriting_, &task);
}

Unwritten::Ending Unwritten::settle(const Task& task) {
    const std::lock_guard guard(lock_);
    Ending ending;
    if (failed_.count(&task) == 0) ending.refusal = refuse_doomed(task);  // it was on its device already
    doomed_.erase(&task);
    if (const auto failed = failed_.find(&task); failed != failed_.end()) {
        ending.failure = failed->second;
        add_writes(task, failed->second);  // once more: children that began after the failure may have written parts
        failed_.erase(failed);
    } else if (task.on_device() != nullptr) {
        // it was enqueued behind its predecessors, perhaps before it was known that one of them had failed
        if (const auto missing = missing_for(task)) {
            add_writes(task, missing->entry.reason);
            ending = {missing->entry.reason, Refusal{Refusal::Cause::data, describe(*missing)}};
        } else {
            clear_writes(task, Cleared::overwritten);
        }
    }
    count();
    return ending;
}

std::shared_ptr<const std::string> Unwritten::failure_of(const Task& task) const {
    const std::lock_guard guard(lock_);
    const auto failed = failed_.find(&task);
    return failed != failed_.end() ? failed->second : nullptr;
}

void Unwritten::take_over(const Task& task) {
    const std::lock_guard guard(lock_);
    clear_writes(task, Cleared::all_written);
    count();
}

void Unwritten::lose(const Version& version, const std::string& reason, std::optional<Node> node) {
    const std::lock_guard guard(lock_);
    add(version, {0, all_of(version), node, std::make_shared<const std::string>(reason)});
    count();
}

void Unwritten::lose(const BoundAccess& region, const std::string& reason) {
    const std::lock_guard guard(lock_);
    add(*region.version, {0, part_of(region), std::nullopt, std::make_shared<const std::string>(reason)});
    count();
}

bool Unwritten::lacks(const BoundAccess& region) const {
    if (!any()) return false;
    const std::lock_guard guard(lock_);
    const auto known = parts_.find(whole_of(*region.version));
    return known != parts_.end() && std::any_of(known->second.begin(), known->second.end(), [&](const Entry& entry) {
               return (!entry.node || *entry.node == host_node) && regions_overlap(entry.part, part_of(region));
           });
}

std::optional<std::string> Unwritten::missing(const Version& version) const {
    if (!any()) return std::nullopt;
    const std::lock_guard guard(lock_);
    const auto known = parts_.find(whole_of(version));
    if (known == parts_.end()) return std::nullopt;
    for (const Entry& entry : known->second) {
        const bool here = !entry.node || *entry.node == host_node;
        if (here && regions_overlap(entry.part, all_of(version))) return describe({known->first->datum, entry});
    }
    return std::nullopt;
}

void Unwritten::restore(const Version& version) {
    const std::lock_guard guard(lock_);
    clear(version, all_of(version), [](const Entry&) { return true; });
    count();
}

void Unwritten::forget_nodes() {
    const std::lock_guard guard(lock_);
    for (auto known = parts_.begin(); known != parts_.end();) {
        std::erase_if(known->second, [](const Entry& entry) { return entry.node.has_value(); });
        known = known->second.empty() ? parts_.erase(known) : std::next(known);
    }
    count();
}

void Unwritten::add(const Version& version, const Entry& entry) {
    std::vector<Entry>& entries = parts_[whole_of(version)];
    const auto says_as_much = [&](const Entry& other) {
        return other.order == entry.order && (!other.node || other.node == entry.node);
    };
    const bool known = std::any_of(entries.begin(), entries.end(), [&](const Entry& other) {
        return says_as_much(other) && covers(other.part, entry.part);
    });
    if (!known) entries.push_back(entry);
}

/// The part has contents, as far as the entries that are concerned(entry) say otherwise.
template <class Concerned>
void Unwritten::clear(const Version& version, const Part& part, const Concerned& concerned) {
    const auto known = parts_.find(whole_of(version));
    if (known == parts_.end()) return;
    std::vector<Entry> rest;
    for (const Entry& entry : known->second) {
        if (!concerned(entry)) {
            rest.push_back(entry);
        } else {
            subtract(entry.part, part, [&](const Part& left) {
                rest.push_back({entry.order, left, entry.node, entry.reason});
            });
        }
    }
    if (rest.empty()) {
        parts_.erase(known);
    } else {
        known->second = std::move(rest);
    }
}

void Unwritten::add_writes(const Task& task, const Reason& reason) {
    for_each_access(task, [&](const BoundAccess& access) {
        if (writes(access.mode)) add(*access.version, {order_of(task), part_of(access), std::nullopt, reason});
    });
}

void Unwritten::clear_writes(const Task& task, Cleared which) {
    if (parts_.empty()) return;
    for_each_access(task, [&](const BoundAccess& access) {
        if (writes(access.mode)) clear_nodes(*access.version, task);
        const bool cleared = which == Cleared::overwritten ? access.mode == AccessMode::write : writes(access.mode);
        const auto earlier = [&](const Entry& entry) { return is_before(entry.order, task); };
        if (cleared) clear(*access.version, part_of(access), earlier);
    });
}

/// The task writes some of the datum where it runs: that is the only copy then, and what others lack does not matter.
void Unwritten::clear_nodes(const Version& version, const Task& task) {
    const auto known = parts_.find(whole_of(version));
    if (known == parts_.end()) return;
    std::erase_if(known->second, [&](const Entry& entry) {
        return entry.node && is_before(entry.order, task) && covers(all_of(version), entry.part);
    });
    if (known->second.empty()) parts_.erase(known);
}

std::optional<Unwritten::Missing> Unwritten::missing_for(const Task& task) const {
    if (parts_.empty()) return std::nullopt;
    const std::uint8_t node = task.node.load(std::memory_order_relaxed);
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        const auto known = parts_.find(whole_of(*access[i].version));
        if (access[i].mode == AccessMode::write || known == parts_.end()) continue;
        for (const Entry& entry : known->second) {
            if (!is_before(entry.order, task)) continue;
            const bool here = !entry.node || *entry.node == node || node == Task::several_nodes;
            if (!here || !regions_overlap(entry.part, part_of(access[i]))) continue;
            if (!is_overwritten(entry, access[i], task)) return Missing{known->first->datum, entry};
        }
    }
    return std::nullopt;
}

/// Whether tasks behind the entry's and in front of the reader, which are on their devices, overwrite all of the part
/// that the reader's access has of it. The reader's turn comes behind theirs; how they end decides.
bool Unwritten::is_overwritten(const Entry& entry, const BoundAccess& access, const Task& reader) const {
    std::vector<Part> parts{common_part(entry.part, part_of(access))};
    for (const Task* const between : overwriting_) {
        if (order_of(*between) <= entry.order || order_of(*between) >= order_of(reader)) continue;
        for_each_access(*between, [&](const BoundAccess& other) {
            if (other.mode != AccessMode::write || whole_of(*other.version) != whole_of(*access.version)) return;
            std::vector<Part> rest;
            for (const Part& part : parts) {
                subtract(part, part_of(other), [&](const Part& left) { rest.push_back(left); });
            }
            parts = std::move(rest);
        });
    }
    return parts.empty();
}

std::string Unwritten::describe(const Missing& missing) {
    const Datum& datum = *missing.datum;
    return "'" + datum.name + "'" + datum.text_of(missing.entry.part) +
           " has no valid contents: " + *missing.entry.reason;
}

}  // namespace basalt::detail
