#include "runtime/memory/coherence.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "runtime/engine.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

namespace {

bool writes(AccessMode mode) { return mode != AccessMode::read; }

std::size_t bytes_of(const Version& version) { return version.datum->bytes(); }

}  // namespace

Residency::~Residency() { owner.forget(*this); }

Coherence::Coherence(Engine& engine, const std::vector<std::unique_ptr<Device>>& devices, std::size_t memory_limit)
    : engine_(engine), devices_(devices), given_(devices.size()), residents_(devices.size() + 1) {
    for (const auto& device : devices) {
        arenas_.push_back(
            std::make_unique<Arena>(*device, memory_limit, [&engine](TaskRef task) { return engine.completed(task); }));
    }
}

Residency& Coherence::residency(Version& version) {
    if (version.residency) return *version.residency;
    version.residency = std::make_unique<Residency>(*this);
    Residency& fresh = *version.residency;
    fresh.version = &version;
    fresh.row_end = version.datum->rows;
    fresh.replica_on(host_node).memory = version.base;
    return fresh;
}

/// Whether nothing of the datum's old contents matters after the task.
bool Coherence::overwritten(const TaskSubmission& task, const BoundAccess& access) const {
    const Datum& datum = *access.version->datum;
    const BoundAccess* begin = task.access_begin();
    return std::all_of(begin, begin + task.access_count(), [&](const BoundAccess& other) {
        if (other.version != access.version) return true;
        const bool all_columns = other.col_begin == 0 && other.col_end == datum.cols;
        const bool all_rows = other.row_begin == 0 && other.row_end == datum.rows;
        return other.mode == AccessMode::write && all_columns && (all_rows || datum.scratch);
    });
}

void Coherence::prepare(TaskSubmission& task, Node node, void** bases) {
    const BoundAccess* accesses = task.access_begin();
    if (node != host_node) {
        ++given_[static_cast<std::size_t>(device_of_node(node))];
        reserve(task, node);
    }
    for (std::uint32_t i = 0; i < task.access_count(); ++i, ++bases) {
        while (*bases == nullptr) ++bases;  // of an empty access
        Version& version = *accesses[i].version;
        const Node used = task.node_of_access(i, node);
        if (used == host_node && !version.residency) continue;
        Residency& r = residency(version);
        if (!r.valid_on(used) && !overwritten(task, accesses[i])) fetch(r, used, purpose_of(task));
        Replica& replica = r.replica_on(used);
        task.wait_for(replica.arrival);
        for (const TaskRef former : replica.former) task.wait_for(former);
        *bases = replica.memory;
    }
}

void Coherence::commit(const TaskSubmission& task, Node node) {
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
            // whoever comes next waits for this task, which waits for them; of other parts they are still to be waited
            // for
            r->replica_on(node).former.clear();
            r->replica_on(node).arrival = {};
        }
        if (datum.scratch && access.mode == AccessMode::write) {
            r->row_begin = access.row_begin;
            r->row_end = access.row_end;
        }
    }
}

Coherence::Purpose Coherence::purpose_of(const TaskSubmission& task) {
    return {.priority = task.priority(), .step = task.step()};
}

/// Memory for all of the task's data at once, before any of them is moved.
void Coherence::reserve(TaskSubmission& task, Node node) {
    std::vector<Residency*> needed;
    for (std::uint32_t i = 0; i < task.access_count(); ++i) {
        if (task.node_of_access(i, node) == node) needed.push_back(&residency(*task.access_begin()[i].version));
    }
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());

    const std::lock_guard guard(lock_);
    bool all_there = true;
    for (Residency* r : needed) {
        Replica& replica = r->replica_on(node);
        replica.last_use = ++clock_;
        all_there = all_there && replica.memory != nullptr;
    }
    if (all_there) return;
    arena(node).begin_reservation();
    try {
        if (!place_all(needed, node, purpose_of(task).step)) throw_too_large(task, node, needed);
    } catch (const DeviceError& error) {
        if (error.out_of_memory()) throw;  // names the task already
        throw DeviceError("task " + task.label() + ": " + error.what(), error.device(), error.sticky());
    }
}

/// False where it is too much. `needed` is sorted.
bool Coherence::place_all(const std::vector<Residency*>& needed, Node node, int step) {
    if (needed_bytes(needed, node) > arena(node).total() && needed_bytes(needed, node) > arena(node).capacity())
        return false;
    const auto place_or_evict = [&](Residency* r) {
        while (!place(*r, node)) {
            if (!evict_one(node, needed, step)) return false;
        }
        return true;
    };
    if (std::all_of(needed.begin(), needed.end(), place_or_evict)) return true;
    // the room there is lies in pieces between the task's own data: start over with none of them
    for (Residency* r : needed) {
        const Replica& replica = r->replica_on(node);
        if (replica.memory != nullptr && !replica.adopted) evict(*r, node, {.step = step});
    }
    return std::all_of(needed.begin(), needed.end(), place_or_evict);
}

std::size_t Coherence::needed_bytes(const std::vector<Residency*>& needed, Node node) {
    return std::accumulate(needed.begin(), needed.end(), std::size_t{0}, [node](std::size_t sum, Residency* r) {
        return sum + (r->replica_on(node).adopted ? 0 : Arena::rounded(bytes_of(*r->version)));
    });
}

bool Coherence::place(Residency& r, Node node) {
    Replica& replica = r.replica_on(node);
    if (replica.memory != nullptr) return true;
    TaskGroup users;
    replica.memory = arena(node).take(bytes_of(*r.version), users);
    if (replica.memory == nullptr) return false;
    replica.former = users;
    replica.arrival = {};
    residents_[static_cast<std::size_t>(node)].push_back(&r);
    return true;
}

/// Frees the replica that is missed least: the one that was not used for longest of those that nobody has to save,
/// being stale or valid elsewhere too, and else of all. Not the stale ones first: whoever gets the memory waits for its
/// users, and buffers taken in turn would take each other's. False when there is none but `kept` (sorted).
bool Coherence::evict_one(Node node, const std::vector<Residency*>& kept, int step) {
    Residency* victim = nullptr;
    for (Residency* r : residents_[static_cast<std::size_t>(node)]) {
        if (r->replica_on(node).adopted || std::binary_search(kept.begin(), kept.end(), r)) continue;
        const auto rank = [&](Residency& candidate) {
            return std::make_pair(candidate.valid == bit_of_node(node), candidate.replica_on(node).last_use);
        };
        if (victim == nullptr || rank(*r) < rank(*victim)) victim = r;
    }
    if (victim == nullptr) return false;
    evict(*victim, node, {.step = step});
    return true;
}

void Coherence::evict(Residency& victim, Node node, Purpose purpose) {
    if (victim.valid == bit_of_node(node)) fetch(victim, host_node, purpose);
    Replica& replica = victim.replica_on(node);
    TaskGroup users = replica.former;
    users.push_back(replica.arrival);
    victim.version->accesses.for_each_user([&](TaskRef user, bool exclusive) {
        // those that used this replica before an exclusive user of today are behind it
        if (exclusive || engine_.uses_node(user, node)) users.push_back(user);
    });
    users.erase_if([&](TaskRef user) { return !user.valid() || engine_.completed(user); });
    arena(node).give_back(replica.memory, users);
    replica = Replica{};
    victim.valid &= ~bit_of_node(node);
    std::erase(residents_[static_cast<std::size_t>(node)], &victim);
}

void Coherence::leave(Version& version, Node node, Purpose purpose) {
    if (!version.residency) return;
    Residency& r = *version.residency;
    const std::lock_guard guard(lock_);
    const Replica& replica = r.replica_on(node);
    if (replica.memory != nullptr && !replica.adopted && !lost(node)) evict(r, node, purpose);
}

/// Memory for one datum alone; false where it can never fit.
bool Coherence::reserve_for(Residency& r, Node node, Purpose purpose) {
    const std::lock_guard guard(lock_);
    r.replica_on(node).last_use = ++clock_;
    arena(node).begin_reservation();
    try {
        return place_all({&r}, node, purpose.step);
    } catch (const DeviceError& error) {
        throw DeviceError("moving '" + std::string(r.version->datum->name) + "' to a GPU: " + error.what(),
                          error.device(), error.sticky());
    }
}

int Coherence::choose_device(const BoundAccess* accesses, std::size_t count) {
    std::vector<std::size_t> held(devices_.size());
    for (std::size_t i = 0; i < count; ++i) {
        const Residency* r = accesses[i].version->residency.get();
        if (r == nullptr) continue;
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            if (r->valid_on(node_of_device(static_cast<int>(d)))) held[d] += bytes_of(*accesses[i].version);
        }
    }
    int best = -1;
    for (int d = 0; d < static_cast<int>(devices_.size()); ++d) {
        const auto i = static_cast<std::size_t>(d);
        if (devices_[i]->lost()) continue;
        const auto b = static_cast<std::size_t>(std::max(best, 0));
        if (best < 0 || held[i] > held[b] || (held[i] == held[b] && given_[i] < given_[b])) best = d;
    }
    return best;
}

void Coherence::prepare_memory(Node node, std::size_t bytes, std::size_t count) {
    const std::lock_guard guard(lock_);
    try {
        arena(node).prepare(Arena::rounded(bytes) * count);
    } catch (const DeviceError& error) {
        throw DeviceError("room for " + std::to_string(count) + " data of " + std::to_string(bytes) +
                              " bytes side by side: " + error.what(),
                          error.device(), error.sticky());
    }
}

std::size_t Coherence::taken(Node node) {
    const std::lock_guard guard(lock_);
    return arena(node).total();
}

std::size_t Coherence::most_in_use(Node node) {
    const std::lock_guard guard(lock_);
    return arena(node).most_in_use();
}

void Coherence::forget_most_in_use() {
    const std::lock_guard guard(lock_);
    for (const auto& arena : arenas_) arena->forget_most_in_use();
}

void Coherence::adopt(Version& version, Node node, void* memory) {
    Residency& r = residency(version);
    Replica& replica = r.replica_on(node);
    const std::lock_guard guard(lock_);
    assert(replica.memory == nullptr);
    replica.memory = memory;
    replica.adopted = true;
    residents_[static_cast<std::size_t>(node)].push_back(&r);
}

std::size_t Coherence::in_use(Node node) {
    const std::lock_guard guard(lock_);
    return arena(node).in_use();
}

void Coherence::forget(Residency& r) {
    const std::lock_guard guard(lock_);
    std::erase_if(failed_, [&](const FailedCopy& failed) { return failed.residency == &r; });
    for (Node node = 1; node <= static_cast<Node>(devices_.size()); ++node) {
        Replica& replica = r.replica_on(node);
        if (replica.memory == nullptr) continue;
        // the datum's users have completed; those of the memory's former tenant may not have
        if (!replica.adopted) arena(node).give_back(replica.memory, replica.former);
        std::erase(residents_[static_cast<std::size_t>(node)], &r);
    }
}

void Coherence::copy_failed(Residency& r, Node node, std::uint64_t number, int device) {
    const std::lock_guard guard(lock_);
    failed_.push_back({&r, node, number, device});
}

void Coherence::check_home(const Residency& r) {
    const std::lock_guard guard(lock_);
    const std::uint64_t last = r.replicas[host_node].arrived;
    for (const FailedCopy& failed : failed_) {
        if (failed.residency != &r || failed.node != host_node || failed.number != last) continue;
        throw DeviceError("the contents of '" + std::string(r.version->datum->name) +
                              "' did not come to the host's memory; wait() tells why",
                          failed.device, devices_[static_cast<std::size_t>(failed.device)]->lost());
    }
}

bool Coherence::damaged() {
    const std::lock_guard guard(lock_);
    return !failed_.empty() || any_lost();
}

bool Coherence::any_lost() const {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->lost(); });
}

void Coherence::recover() {
    const std::lock_guard guard(lock_);
    // a fault on one GPU fails the others as well: before new graphs are placed there
    if (any_lost()) {
        for (const auto& device : devices_) device->notice_if_lost();
    }
    for (const FailedCopy& failed : failed_) distrust(*failed.residency, failed.node, failed.number);
    failed_.clear();
    for (Node node = 1; node <= static_cast<Node>(devices_.size()); ++node) {
        if (!lost(node)) continue;
        for (Residency* r : residents_[static_cast<std::size_t>(node)]) {
            r->valid &= ~bit_of_node(node);
            if (r->valid == 0) r->valid = bit_of_node(host_node);  // contents unspecified, but memory that is there
        }
    }
}

/// Transfer `number` did not fill the replica, nor did any later one that came from there.
void Coherence::distrust(Residency& r, Node node, std::uint64_t number) {
    constexpr std::uint64_t sound = ~std::uint64_t{0};
    std::array<std::uint64_t, max_nodes> bad_since;
    bad_since.fill(sound);
    bad_since[static_cast<std::size_t>(node)] = number;
    for (bool more = true; more;) {
        more = false;
        for (std::size_t n = 0; n < bad_since.size(); ++n) {
            const Replica& replica = r.replicas[n];
            if (bad_since[n] != sound || replica.arrived <= bad_since[static_cast<std::size_t>(replica.source)])
                continue;
            bad_since[n] = replica.arrived;
            more = true;
        }
    }
    for (std::size_t n = 0; n < bad_since.size(); ++n) {
        // what was filled anew since, from elsewhere, is good
        if (bad_since[n] == r.replicas[n].arrived) r.valid &= ~bit_of_node(static_cast<Node>(n));
    }
    if (r.valid == 0) r.valid = bit_of_node(host_node);
}

void Coherence::throw_too_large(const TaskSubmission& task, Node node, const std::vector<Residency*>& needed) const {
    const Device& device = device_of(node);
    const std::string& refusal = arena(node).refusal();
    throw DeviceError("task " + task.label() + " needs " + std::to_string(needed_bytes(needed, node)) + " bytes of " +
                          device.name() + " at once; the runtime may use " + std::to_string(arena(node).capacity()) +
                          (refusal.empty() ? "" : ": " + refusal),
                      device.index(), false, true);
}

}  // namespace basalt::detail
