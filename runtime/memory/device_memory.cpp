#include "runtime/memory/device_memory.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>
#include <utility>

namespace basalt::detail {

namespace {

std::size_t needed_bytes(const std::vector<Residency*>& needed, Node node) {
    return std::accumulate(needed.begin(), needed.end(), std::size_t{0}, [node](std::size_t sum, const Residency* r) {
        return sum + (r->replica_on(node).adopted ? 0 : Arena::rounded(r->version->datum->bytes()));
    });
}

}  // namespace

DeviceMemory::DeviceMemory(TaskGraph& graph, const std::vector<std::unique_ptr<Device>>& devices, std::size_t limit,
                           Transfers& transfers)
    : graph_(graph), devices_(devices), transfers_(transfers), residents_(devices.size()) {
    for (const auto& device : devices) {
        arenas_.push_back(
            std::make_unique<Arena>(*device, limit, [&graph](TaskRef task) { return graph.completed(task); }));
        scratch_.emplace_back(*arenas_.back());
    }
}

bool DeviceMemory::touch(const std::vector<Residency*>& needed, Node node) {
    bool all_there = true;
    for (Residency* r : needed) {
        Replica& replica = r->replica_on(node);
        replica.last_use = ++clock_;
        all_there = all_there && replica.memory != nullptr;
    }
    return all_there;
}

bool DeviceMemory::reserve(const std::vector<Residency*>& needed, Node node, std::optional<int> step) {
    const std::lock_guard guard(lock_);
    arena(node).begin_reservation();
    return place_all(needed, node, step);
}

bool DeviceMemory::place_all(const std::vector<Residency*>& needed, Node node, std::optional<int> step) {
    const std::size_t bytes = needed_bytes(needed, node);
    if (bytes > arena(node).total() && bytes > arena(node).capacity()) return false;
    const auto place_or_evict = [&](Residency* r) {
        while (!place(*r, node)) {
            if (!evict_one(node, needed, step) && !give_back_scratch(node)) return false;
        }
        return true;
    };
    if (std::all_of(needed.begin(), needed.end(), place_or_evict)) return true;
    // the free room is fragmented by the task's own data: start over without any of them
    for (Residency* r : needed) {
        const Replica& replica = r->replica_on(node);
        if (replica.memory != nullptr && !replica.adopted) evict(*r, node, {.step = step});
    }
    return std::all_of(needed.begin(), needed.end(), place_or_evict);
}

bool DeviceMemory::place(Residency& r, Node node) {
    Replica& replica = r.replica_on(node);
    if (replica.memory != nullptr) return true;
    TaskGroup users;
    replica.memory = arena(node).take(r.version->datum->bytes(), users);
    if (replica.memory == nullptr) return false;
    replica.former = users;
    replica.arrival = {};
    residents(node).push_back(&r);
    return true;
}

/// Frees one replica: the least recently used one of those that need not be saved, which are stale or valid elsewhere
/// too; if there is none, the least recently used one of all. Stale replicas do not come first: the next owner of the
/// memory waits for its users, so buffers used in turn would wait for each other. False when all are in `kept`
/// (sorted).
bool DeviceMemory::evict_one(Node node, const std::vector<Residency*>& kept, std::optional<int> step) {
    Residency* victim = nullptr;
    for (Residency* r : residents(node)) {
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

void DeviceMemory::evict(Residency& victim, Node node, Purpose purpose) {
    if (victim.valid == bit_of_node(node)) transfers_.fetch(victim, host_node, purpose);
    Replica& replica = victim.replica_on(node);
    TaskGroup users = replica.former;
    users.push_back(replica.arrival);
    victim.version->accesses.for_each_user([&](TaskRef user, Use use) {
        // those that used this replica before an exclusive user of today are behind it
        if (use == Use::exclusive || graph_.uses_node(user, node)) users.push_back(user);
    });
    users.erase_if([&](TaskRef user) { return !user.valid() || graph_.completed(user); });
    arena(node).give_back(replica.memory, users);
    replica = Replica{};
    victim.valid &= ~bit_of_node(node);
    std::erase(residents(node), &victim);
}

void DeviceMemory::leave(Residency& r, Node node, Purpose purpose) {
    const std::lock_guard guard(lock_);
    const Replica& replica = r.replica_on(node);
    if (replica.memory != nullptr && !replica.adopted && !device_of(node).lost()) evict(r, node, purpose);
}

void DeviceMemory::adopt(Residency& r, Node node, void* memory) {
    Replica& replica = r.replica_on(node);
    const std::lock_guard guard(lock_);
    assert(replica.memory == nullptr);
    replica.memory = memory;
    replica.adopted = true;
    residents(node).push_back(&r);
}

void DeviceMemory::forget(Residency& r) {
    const std::lock_guard guard(lock_);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const Node node = node_of_device(static_cast<int>(d));
        Replica& replica = r.replica_on(node);
        if (replica.memory == nullptr) continue;
        // the datum's users have completed; those of the memory's former tenant may not have
        if (!replica.adopted) arena(node).give_back(replica.memory, replica.former);
        std::erase(residents(node), &r);
    }
}

void DeviceMemory::give_up_contents(Node node, const std::function<void(Residency&)>& lost) {
    const std::lock_guard guard(lock_);
    for (Residency* r : residents(node)) {
        r->valid &= ~bit_of_node(node);
        if (r->valid == 0) lost(*r);
    }
}

void DeviceMemory::prepare(Node node, std::size_t bytes, std::size_t count) {
    const std::lock_guard guard(lock_);
    try {
        arena(node).prepare(Arena::rounded(bytes) * count);
    } catch (const DeviceError& error) {
        throw DeviceError("room for " + std::to_string(count) + " data of " + std::to_string(bytes) +
                              " bytes side by side: " + error.what(),
                          error.device(), error.fault());
    }
}

void* DeviceMemory::take_scratch(Node node, StreamRole stream, TaskRef task, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    const std::lock_guard guard(lock_);
    Arena& memory = arena(node);
    Scratch& scratch = scratch_[static_cast<std::size_t>(device_of_node(node))];
    memory.begin_reservation();
    if (void* const found = scratch.take(stream, task, bytes)) return found;
    const Device& device = device_of(node);
    const std::size_t held = scratch.held();
    throw DeviceError(std::to_string(bytes) + " bytes of scratch memory: the runtime may use " +
                          std::to_string(memory.capacity()) + " bytes of " + device.name() + ", of which data have " +
                          std::to_string(memory.in_use() - held) + " and scratch memory " + std::to_string(held) +
                          "; an array that the task writes would displace other data" +
                          (memory.refusal().empty() ? "" : " (" + memory.refusal() + ")"),
                      device.index(), DeviceFault::out_of_memory);
}

DeviceMemory::Bytes DeviceMemory::bytes(Node node) const {
    const std::lock_guard guard(lock_);
    return {arena(node).total(), arena(node).in_use(), arena(node).most_in_use()};
}

void DeviceMemory::forget_most_in_use() {
    const std::lock_guard guard(lock_);
    for (const auto& arena : arenas_) arena->forget_most_in_use();
}

std::string DeviceMemory::too_large(const std::vector<Residency*>& needed, Node node) const {
    const std::size_t bytes = needed_bytes(needed, node), capacity = arena(node).capacity();
    const std::string& refusal = arena(node).refusal();
    const std::string why = !refusal.empty()    ? ": " + refusal
                            : bytes <= capacity ? ", in blocks of which none is large enough"
                                                : "";
    return std::to_string(bytes) + " bytes of " + device_of(node).name() + " at once; the runtime may use " +
           std::to_string(capacity) + why;
}

}  // namespace basalt::detail
