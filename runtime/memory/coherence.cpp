#include "runtime/memory/coherence.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "runtime/device/broadcast.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/engine.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

namespace {

constexpr std::uint32_t bit(Node node) { return 1U << node; }

bool writes(AccessMode mode) { return mode != AccessMode::read; }

std::size_t bytes_of(const Version& version) { return version.datum->bytes(); }

/// The bytes of the rows that have contents, at a replica's address.
std::byte* contents_at(const Residency& residency, Node node) {
    const Datum& datum = *residency.version->datum;
    const std::size_t row = datum.element_size * static_cast<std::size_t>(datum.cols);
    auto* base = static_cast<std::byte*>(residency.replicas[static_cast<std::size_t>(node)].memory);
    return base + row * static_cast<std::size_t>(residency.row_begin);
}

std::size_t contents_bytes(const Residency& residency) {
    const Datum& datum = *residency.version->datum;
    return datum.element_size * static_cast<std::size_t>(datum.cols) *
           static_cast<std::size_t>(residency.row_end - residency.row_begin);
}

Replica& replica_on(Residency& residency, Node node) { return residency.replicas[static_cast<std::size_t>(node)]; }

}  // namespace

Residency::~Residency() { owner.forget(*this); }

Coherence::Coherence(Engine& engine, const std::vector<std::unique_ptr<Device>>& devices, std::size_t memory_limit)
    : engine_(engine), devices_(devices), given_(devices.size()), residents_(devices.size() + 1) {
    for (const auto& device : devices) {
        arenas_.push_back(std::make_unique<Arena>(*device, memory_limit,
                                                  [&engine](TaskRef task) { return engine.completed(task); }));
    }
}

Residency& Coherence::residency(Version& version) {
    if (version.residency) return *version.residency;
    version.residency = std::make_unique<Residency>(*this);
    Residency& fresh = *version.residency;
    fresh.version = &version;
    fresh.row_end = version.datum->rows;
    replica_on(fresh, host_node).memory = version.base;
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
        if (node == host_node && !version.residency) continue;
        Residency& r = residency(version);
        if (!r.valid_on(node) && !overwritten(task, accesses[i])) fetch(r, node, purpose_of(task));
        Replica& replica = replica_on(r, node);
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
        r->valid = bit(node);
        if (all_rows && all_columns) {
            // whoever comes next waits for this task, which waits for them; of other parts they are still to be waited for
            replica_on(*r, node).former.clear();
            replica_on(*r, node).arrival = {};
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
    for (std::uint32_t i = 0; i < task.access_count(); ++i) needed.push_back(&residency(*task.access_begin()[i].version));
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());

    const std::lock_guard guard(lock_);
    bool all_there = true;
    for (Residency* r : needed) {
        Replica& replica = replica_on(*r, node);
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
    if (needed_bytes(needed, node) > arena(node).total() && needed_bytes(needed, node) > arena(node).capacity()) return false;
    const auto place_or_evict = [&](Residency* r) {
        while (!place(*r, node)) {
            if (!evict_one(node, needed, step)) return false;
        }
        return true;
    };
    if (std::all_of(needed.begin(), needed.end(), place_or_evict)) return true;
    // the room there is lies in pieces between the task's own data: start over with none of them
    for (Residency* r : needed) {
        const Replica& replica = replica_on(*r, node);
        if (replica.memory != nullptr && !replica.adopted) evict(*r, node, step);
    }
    return std::all_of(needed.begin(), needed.end(), place_or_evict);
}

std::size_t Coherence::needed_bytes(const std::vector<Residency*>& needed, Node node) {
    return std::accumulate(needed.begin(), needed.end(), std::size_t{0}, [node](std::size_t sum, Residency* r) {
        return sum + (replica_on(*r, node).adopted ? 0 : Arena::rounded(bytes_of(*r->version)));
    });
}

bool Coherence::place(Residency& r, Node node) {
    Replica& replica = replica_on(r, node);
    if (replica.memory != nullptr) return true;
    TaskGroup users;
    replica.memory = arena(node).take(bytes_of(*r.version), users);
    if (replica.memory == nullptr) return false;
    replica.former = users;
    replica.arrival = {};
    residents_[static_cast<std::size_t>(node)].push_back(&r);
    return true;
}

/// Frees the replica that is missed least: a stale one, one of which there are others, the only one; of equals the one
/// that was not used for longest. False when there is none but `kept` (sorted).
bool Coherence::evict_one(Node node, const std::vector<Residency*>& kept, int step) {
    auto loss = [&](const Residency& r) { return !r.valid_on(node) ? 0 : r.valid != bit(node) ? 1 : 2; };
    Residency* victim = nullptr;
    for (Residency* r : residents_[static_cast<std::size_t>(node)]) {
        if (replica_on(*r, node).adopted || std::binary_search(kept.begin(), kept.end(), r)) continue;
        const auto rank = [&](Residency& candidate) {
            return std::make_pair(loss(candidate), replica_on(candidate, node).last_use);
        };
        if (victim == nullptr || rank(*r) < rank(*victim)) victim = r;
    }
    if (victim == nullptr) return false;
    evict(*victim, node, step);
    return true;
}

void Coherence::evict(Residency& victim, Node node, int step) {
    if (victim.valid == bit(node)) fetch(victim, host_node, {.step = step});
    Replica& replica = replica_on(victim, node);
    TaskGroup users = replica.former;
    users.push_back(replica.arrival);
    victim.version->accesses.for_each_user([&](TaskRef user, bool exclusive) {
        // those that used this replica before an exclusive user of today are behind it
        if (exclusive || engine_.uses_node(user, node)) users.push_back(user);
    });
    users.erase_if([&](TaskRef user) { return !user.valid() || engine_.completed(user); });
    arena(node).give_back(replica.memory, users);
    replica = Replica{};
    victim.valid &= ~bit(node);
    std::erase(residents_[static_cast<std::size_t>(node)], &victim);
}

/// From a device if one is valid and within reach: devices are linked faster to each other than to the host.
Node Coherence::source_for(const Residency& r, Node node) const {
    Node lost = -1;
    Node far = -1;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const Node from = node_of_device(static_cast<int>(d));
        if (!r.valid_on(from)) continue;
        if (devices_[d]->lost()) {
            lost = from;
            continue;
        }
        if (node == host_node) return from;
        if (devices_[d]->reaches(*devices_[static_cast<std::size_t>(device_of_node(node))])) return from;
        far = from;
    }
    if (r.valid_on(host_node)) return host_node;
    if (far >= 0) return far;
    throw DeviceError("the contents of '" + std::string(r.version->datum->name) + "' were on " +
                          devices_[static_cast<std::size_t>(device_of_node(lost))]->name() + ", which is lost",
                      device_of_node(lost), true);
}

void Coherence::fetch(Residency& r, Node node, Purpose purpose) {
    const Node from = source_for(r, node);
    if (from != host_node && node != host_node &&
        !devices_[static_cast<std::size_t>(device_of_node(from))]->reaches(
            *devices_[static_cast<std::size_t>(device_of_node(node))])) {
        submit_copy(r, from, host_node, purpose);
        submit_copy(r, host_node, node, purpose);
        return;
    }
    submit_copy(r, from, node, purpose);
}

/// What a copy to the node must not overtake: users of the replica that it overwrites, which may be readers that the copy
/// need not wait for as a reader itself, and of the memory's former tenant.
TaskGroup Coherence::hazards_of_copy(Residency& r, Node node) {
    TaskGroup waits = replica_on(r, node).former;
    r.version->accesses.for_each_user([&](TaskRef user, bool exclusive) {
        if (!exclusive && engine_.uses_node(user, node)) waits.push_back(user);
    });
    return waits;
}

void Coherence::submit_copy(Residency& r, Node from, Node to, Purpose purpose) {
    const TaskGroup waits = hazards_of_copy(r, to);
    TaskSubmission copy(engine_, engine_.root_, engine_.slot_cache(engine_.root_));
    const int device = from == host_node ? device_of_node(to) : device_of_node(from);
    const StreamRole role = from == host_node ? StreamRole::from_host : to == host_node ? StreamRole::to_host : StreamRole::peer;
    DeviceWork& work = copy.make_runtime_work(device, role, to == host_node ? "to host" : "to gpu", purpose.priority,
                                              {device_of_node(from), device_of_node(to), -1});
    copy.task().step = purpose.step;
    copy.bind_all_rows(*r.version, r.row_begin, r.row_end);
    copy.wait_for(replica_on(r, from).arrival);
    for (const TaskRef user : waits) copy.wait_for(user);

    const Copy piece{contents_at(r, to), contents_at(r, from), contents_bytes(r)};
    Device* peer = role == StreamRole::peer ? devices_[static_cast<std::size_t>(device_of_node(to))].get() : nullptr;
    work.bytes = static_cast<std::int64_t>(piece.row_bytes);
    const std::uint64_t number = ++transfers_;
    work.failed = [this, &r, to, number, device] { copy_failed(r, to, number, device); };
    work.operation = [piece, role, peer](Driver& driver, std::vector<StreamPoint>&) { driver.copy(role, peer, piece); };
    copy.record_hazards();
    note_arrival(r, from, to, copy.task().ref(), number);
    engine_.release_submission(copy);
}

void Coherence::note_arrival(Residency& r, Node from, Node to, TaskRef transfer, std::uint64_t number) {
    Replica& target = replica_on(r, to);
    target.arrival = transfer;
    target.arrived = number;
    target.source = from;
    target.former.clear();
    r.valid |= bit(to);
}

void Coherence::prefetch(Version& version, Node node, Purpose purpose) {
    Residency& r = residency(version);
    if (r.valid_on(node)) return;
    if (node != host_node && (lost(node) || !reserve_for(r, node, purpose))) return;
    fetch(r, node, purpose);
}

/// Memory for one datum alone; false where it can never fit.
bool Coherence::reserve_for(Residency& r, Node node, Purpose purpose) {
    const std::lock_guard guard(lock_);
    replica_on(r, node).last_use = ++clock_;
    arena(node).begin_reservation();
    try {
        return place_all({&r}, node, purpose.step);
    } catch (const DeviceError& error) {
        throw DeviceError("moving '" + std::string(r.version->datum->name) + "' to a GPU: " + error.what(), error.device(),
                          error.sticky());
    }
}

void Coherence::broadcast(Version& version, const std::vector<Node>& nodes, Purpose purpose) {
    Residency& r = residency(version);
    std::vector<Node> targets;
    for (const Node node : nodes) {
        if (!r.valid_on(node) && !lost(node) && reserve_for(r, node, purpose)) targets.push_back(node);
    }
    if (targets.empty()) return;
    const Node from = source_for(r, targets.front());
    const auto direct = [&](Node node) {
        return from == host_node || devices_[static_cast<std::size_t>(device_of_node(from))]->reaches(
                                        *devices_[static_cast<std::size_t>(device_of_node(node))]);
    };
    if (targets.size() == 1 || !std::all_of(targets.begin(), targets.end(), direct)) {
        for (const Node node : targets) fetch(r, node, purpose);  // where peers do not reach each other: by the host
        return;
    }

    TaskGroup waits;
    for (const Node node : targets) {
        for (const TaskRef user : hazards_of_copy(r, node)) waits.push_back(user);
    }
    TaskSubmission task(engine_, engine_.root_, engine_.slot_cache(engine_.root_));
    const int device = from == host_node ? device_of_node(targets.front()) : device_of_node(from);
    const StreamRole role = from == host_node ? StreamRole::from_host : StreamRole::peer;
    DeviceWork& work = task.make_runtime_work(device, role, "broadcast", purpose.priority, {device_of_node(from), -1, -1});
    task.task().step = purpose.step;
    work.has_parts.store(true, std::memory_order_relaxed);
    task.bind_all_rows(version, r.row_begin, r.row_end);
    task.wait_for(replica_on(r, from).arrival);
    for (const TaskRef user : waits) task.wait_for(user);

    BroadcastPlan plan;
    plan.source = from == host_node ? nullptr : devices_[static_cast<std::size_t>(device_of_node(from))].get();
    plan.from = contents_at(r, from);
    plan.bytes = contents_bytes(r);
    for (const Node node : targets) {
        plan.targets.push_back({devices_[static_cast<std::size_t>(device_of_node(node))].get(), contents_at(r, node)});
    }
    work.bytes = static_cast<std::int64_t>(plan.bytes * targets.size());
    const std::uint64_t number = ++transfers_;
    work.failed = [this, &r, targets, number, device] {
        for (const Node node : targets) copy_failed(r, node, number, device);
    };
    work.operation = [plan](Driver& driver, std::vector<StreamPoint>& ends) { driver.broadcast(plan, ends); };
    task.record_hazards();
    for (const Node node : targets) note_arrival(r, from, node, task.task().ref(), number);
    engine_.release_submission(task);
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
    arena(node).prepare(Arena::rounded(bytes) * count);
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
    Replica& replica = replica_on(r, node);
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
        Replica& replica = replica_on(r, node);
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
            r->valid &= ~bit(node);
            if (r->valid == 0) r->valid = bit(host_node);  // contents unspecified, but memory that is there
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
            if (bad_since[n] != sound || replica.arrived <= bad_since[static_cast<std::size_t>(replica.source)]) continue;
            bad_since[n] = replica.arrived;
            more = true;
        }
    }
    for (std::size_t n = 0; n < bad_since.size(); ++n) {
        // what was filled anew since, from elsewhere, is good
        if (bad_since[n] == r.replicas[n].arrived) r.valid &= ~bit(static_cast<Node>(n));
    }
    if (r.valid == 0) r.valid = bit(host_node);
}

void Coherence::throw_too_large(const TaskSubmission& task, Node node, const std::vector<Residency*>& needed) const {
    const Device& device = *devices_[static_cast<std::size_t>(device_of_node(node))];
    const std::string& refusal = arena(node).refusal();
    throw DeviceError("task " + task.label() + " needs " + std::to_string(needed_bytes(needed, node)) + " bytes of " + device.name() +
                          " at once; the runtime may use " + std::to_string(arena(node).capacity()) +
                          (refusal.empty() ? "" : ": " + refusal),
                      device.index(), false, true);
}

}  // namespace basalt::detail
