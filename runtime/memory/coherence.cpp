#include "runtime/memory/coherence.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include <spdlog/spdlog.h>

namespace basalt::detail {

namespace {

Purpose purpose_of(const TaskBuilder& task) {
    return {.priority = task.task().priority, .step = task.task().step.get()};
}

}  // namespace

bool Coherence::overwritten(const TaskBuilder& task, const BoundAccess& access) {
    const Datum& datum = *access.version->datum;
    const BoundAccess* begin = task.access_begin();
    return std::all_of(begin, begin + task.access_count(), [&](const BoundAccess& other) {
        if (other.version != access.version) return true;
        const bool all_columns = other.col_begin == 0 && other.col_end == datum.cols;
        const bool all_rows = other.row_begin == 0 && other.row_end == datum.rows;
        return other.mode == AccessMode::write && all_columns && (all_rows || datum.scratch);
    });
}

Residency& Coherence::residency(Version& version) {
    if (version.residency) return *version.residency;
    version.residency = std::make_unique<Residency>(*this);
    Residency& fresh = *version.residency;
    fresh.version = &version;
    fresh.row_end = version.datum->rows;
    fresh.replica_on(host_node).memory = version.base;
    if (version.datum->borrowed) {
        const std::lock_guard guard(borrowed_lock_);
        borrowed_.push_back(&fresh);
    }
    return fresh;
}

void Coherence::prepare(TaskBuilder& task, Node node, void** bases) {
    const BoundAccess* accesses = task.access_begin();
    if (node != host_node) {
        ++given_[static_cast<std::size_t>(device_of_node(node))];
        reserve(task, node);
    }
    for (std::uint32_t i = 0; i < task.access_count(); ++i, ++bases) {
        while (*bases == nullptr) ++bases;  // of an empty access
        Version& version = *accesses[i].version;
        if (version.datum->is_token()) continue;
        const Node used = task.node_of_access(i, node);
        if (used == host_node && !version.residency) continue;
        Residency& r = residency(version);
        if (!r.valid_on(used) && !overwritten(task, accesses[i])) transfers_.fetch(r, used, purpose_of(task));
        Replica& replica = r.replica_on(used);
        task.wait_for(replica.arrival);
        for (const TaskRef former : replica.former) task.wait_for(former);
        *bases = replica.memory;
    }
}

void Coherence::gather(TaskBuilder& task, Purpose purpose) {
    purpose.gathers = true;
    const BoundAccess* accesses = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count(); ++i) {
        Residency* r = accesses[i].version->residency.get();
        if (r == nullptr) continue;
        try {
            if (!r->valid_on(host_node)) transfers_.fetch(*r, host_node, purpose);
        } catch (const DeviceError& error) {  // a lost device
            unwritten_.lose(*r->version, error.what());
            r->abandon();
        }
        task.wait_for(r->replica_on(host_node).arrival);
    }
}

void Coherence::commit(const TaskBuilder& task, Node node) {
    const BoundAccess* accesses = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count(); ++i) {
        const BoundAccess& access = accesses[i];
        Residency* r = access.version->residency.get();
        if (r == nullptr || !writes(access.mode)) continue;
        const Datum& datum = *access.version->datum;
        const bool all_rows = access.row_begin == 0 && access.row_end == datum.rows;
        const bool all_columns = access.col_begin == 0 && access.col_end == datum.cols;
        r->valid = bit_of_node(node);
        if (all_rows && all_columns) {
            // the next user waits for this task, and so for them; users of other parts still have to be waited for
            r->replica_on(node).former.clear();
            r->replica_on(node).arrival = {};
        }
        if (datum.scratch && access.mode == AccessMode::write) {
            r->row_begin = access.row_begin;
            r->row_end = access.row_end;
        }
    }
}

/// Memory for all of the task's data at once, before any of them is moved.
void Coherence::reserve(TaskBuilder& task, Node node) {
    std::vector<Residency*> needed;
    for (std::uint32_t i = 0; i < task.access_count(); ++i) {
        Version& version = *task.access_begin()[i].version;
        const bool needs_memory = task.node_of_access(i, node) == node && !version.datum->is_token();
        if (needs_memory) needed.push_back(&residency(version));
    }
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    if (memory_.touch(needed, node)) return;
    try {
        if (memory_.reserve(needed, node, purpose_of(task).step)) return;
    } catch (const DeviceError& error) {
        throw DeviceError("task " + task_label(task.task()) + ": " + error.what(), error.device(), error.fault());
    }
    throw DeviceError("task " + task_label(task.task()) + " needs " + memory_.too_large(needed, node),
                      device_of_node(node), DeviceFault::out_of_memory);
}

/// Memory for one datum alone; false where it can never fit.
bool Coherence::reserve_for(Residency& r, Node node, Purpose purpose) {
    const std::vector<Residency*> needed{&r};
    if (memory_.touch(needed, node)) return true;
    try {
        return memory_.reserve(needed, node, purpose.step);
    } catch (const DeviceError& error) {
        throw DeviceError("moving '" + r.version->datum->name + "' to a GPU: " + error.what(), error.device(),
                          error.fault());
    }
}

void Coherence::prefetch(Version& version, Node node, Purpose purpose) {
    Residency& r = residency(version);
    if (r.valid_on(node)) return;
    if (node != host_node && (lost(node) || !reserve_for(r, node, purpose))) return;
    transfers_.fetch(r, node, purpose);
}

void Coherence::broadcast(Version& version, Purpose purpose, BroadcastRoute route) {
    Residency& r = residency(version);
    std::vector<Node> targets;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const Node node = node_of_device(static_cast<int>(d));
        if (!r.valid_on(node) && !lost(node) && reserve_for(r, node, purpose)) targets.push_back(node);
    }
    transfers_.broadcast(r, std::move(targets), purpose, route);
}

std::optional<int> Coherence::choose_device(const BoundAccess* accesses, std::size_t count) const {
    std::vector<std::size_t> held(devices_.size());
    for (std::size_t i = 0; i < count; ++i) {
        const Residency* r = accesses[i].version->residency.get();
        if (r == nullptr) continue;
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            if (r->valid_on(node_of_device(static_cast<int>(d)))) held[d] += accesses[i].version->datum->bytes();
        }
    }
    std::optional<std::size_t> best;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        if (devices_[d]->lost()) continue;
        const bool better = !best || held[d] > held[*best] || (held[d] == held[*best] && given_[d] < given_[*best]);
        if (better) best = d;
    }
    return best ? std::optional(static_cast<int>(*best)) : std::nullopt;
}

bool Coherence::may_fit(const TaskBuilder& task, Node node) const {
    const BoundAccess* accesses = task.access_begin();
    std::size_t bytes = 0;
    for (std::uint32_t i = 0; i < task.access_count(); ++i) {
        const bool again = std::any_of(accesses, accesses + i,
                                       [&](const BoundAccess& other) { return other.version == accesses[i].version; });
        if (!again) bytes += accesses[i].version->datum->bytes();
    }
    return bytes <= memory_.capacity(node);
}

void Coherence::bring_borrowed_home() {
    const std::lock_guard guard(borrowed_lock_);
    for (Residency* r : borrowed_) {
        try {
            if (!r->valid_on(host_node)) transfers_.fetch(*r, host_node, {});
            r->abandon();  // the user may write it: the next task on a GPU takes it from there
            std::erase(lost_, r);
        } catch (const DeviceError& error) {
            note_loss(*r, error.what());
        }
    }
}

void Coherence::note_failed_homecomings() {
    if (!failures_.any()) return;  // no wait has to look at every array
    const std::lock_guard guard(borrowed_lock_);
    for (Residency* r : borrowed_) {
        try {
            check_home(*r);
        } catch (const DeviceError& error) {
            note_loss(*r, error.what());
        }
    }
}

/// Once, until the contents come home again.
void Coherence::note_loss(const Residency& r, const char* why) {
    if (std::find(lost_.begin(), lost_.end(), &r) != lost_.end()) return;
    lost_.push_back(&r);
    losses_.push_back("the memory of '" + std::string(r.version->datum->name) + "' does not hold its contents: " + why);
}

std::size_t Coherence::losses() const {
    const std::lock_guard guard(borrowed_lock_);
    return losses_.size();
}

std::optional<std::string> Coherence::next_loss(std::size_t& seen) const {
    const std::lock_guard guard(borrowed_lock_);
    return seen < losses_.size() ? std::optional(losses_[seen++]) : std::nullopt;
}

void Coherence::forget(Residency& r) {
    {
        const std::lock_guard guard(borrowed_lock_);
        std::erase(borrowed_, &r);
        std::erase(lost_, &r);
    }
    failures_.forget(r);
    memory_.forget(r);
}

bool Coherence::any_lost() const {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->lost(); });
}

void Coherence::recover() {
    // a fault on one GPU fails the others as well: before new graphs are placed there
    if (any_lost()) {
        for (const auto& device : devices_) device->notice_if_lost();
    }
    const auto lose = [this](const std::string& why) {
        return [this, why](Residency& r) {
            unwritten_.lose(*r.version, why);
            r.abandon();  // memory that is there
        };
    };
    failures_.distrust_all(lose("a transfer failed of what was nowhere else"));
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const Device& device = *devices_[d];
        if (!device.lost()) continue;
        memory_.give_up_contents(node_of_device(static_cast<int>(d)),
                                 lose(device.name() + ", which had the only copy, is lost"));
    }
    unwritten_.forget_nodes();
}

}  // namespace basalt::detail
