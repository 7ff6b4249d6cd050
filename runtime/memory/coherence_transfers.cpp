// The transfers that bring data where they are to be valid.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/device/broadcast.hpp"
#include "runtime/device/driver.hpp"
#include "runtime/engine.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

namespace {

/// The bytes of the rows that have contents, at a replica's address.
std::byte* contents_at(const Residency& residency, Node node) {
    const Datum& datum = *residency.version->datum;
    const std::size_t row = datum.element_size * static_cast<std::size_t>(datum.cols);
    return static_cast<std::byte*>(residency.replica_on(node).memory) +
           row * static_cast<std::size_t>(residency.row_begin);
}

std::size_t contents_bytes(const Residency& residency) {
    const Datum& datum = *residency.version->datum;
    return datum.element_size * static_cast<std::size_t>(datum.cols) *
           static_cast<std::size_t>(residency.row_end - residency.row_begin);
}

}  // namespace

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
        if (devices_[d]->reaches(device_of(node))) return from;
        far = from;
    }
    if (r.valid_on(host_node)) return host_node;
    if (far >= 0) return far;
    throw DeviceError("the contents of '" + std::string(r.version->datum->name) + "' were on " +
                          device_of(lost).name() + ", which is lost",
                      device_of_node(lost), true);
}

void Coherence::fetch(Residency& r, Node node, Purpose purpose) {
    const Node from = source_for(r, node);
    if (from != host_node && node != host_node && !device_of(from).reaches(device_of(node))) {
        submit_copy(r, from, host_node, purpose);
        submit_copy(r, host_node, node, purpose);
        return;
    }
    submit_copy(r, from, node, purpose);
}

/// What a copy to the node must not overtake: users of the replica that it overwrites, which may be readers that the
/// copy need not wait for as a reader itself, and of the memory's former tenant.
TaskGroup Coherence::hazards_of_copy(Residency& r, Node node) {
    TaskGroup waits = r.replica_on(node).former;
    r.version->accesses.for_each_user([&](TaskRef user, bool exclusive) {
        if (!exclusive && engine_.uses_node(user, node)) waits.push_back(user);
    });
    return waits;
}

void Coherence::submit_copy(Residency& r, Node from, Node to, Purpose purpose) {
    const TaskGroup waits = hazards_of_copy(r, to);
    TaskSubmission copy(engine_, engine_.root_, engine_.slot_cache(engine_.root_));
    const int device = from == host_node ? device_of_node(to) : device_of_node(from);
    const StreamRole role = from == host_node ? StreamRole::from_host
                            : to == host_node ? StreamRole::to_host
                                              : StreamRole::peer;
    DeviceWork& work = copy.make_runtime_work(device, role, to == host_node ? "to host" : "to gpu", purpose.priority,
                                              {device_of_node(from), device_of_node(to), -1});
    copy.task().step = purpose.step;
    copy.bind_all_rows(*r.version, r.row_begin, r.row_end);
    copy.wait_for(r.replica_on(from).arrival);
    for (const TaskRef user : waits) copy.wait_for(user);

    const Copy piece{contents_at(r, to), contents_at(r, from), contents_bytes(r)};
    Device* peer = role == StreamRole::peer ? &device_of(to) : nullptr;
    work.bytes = static_cast<std::int64_t>(piece.row_bytes);
    const std::uint64_t number = ++transfers_;
    work.failed = [this, &r, to, number, device] { copy_failed(r, to, number, device); };
    work.operation = [piece, role, peer](Driver& driver, Enqueued&) { driver.copy(role, peer, piece); };
    copy.record_hazards();
    note_arrival(r, from, to, copy.task().ref(), number);
    engine_.release_submission(copy);
}

void Coherence::note_arrival(Residency& r, Node from, Node to, TaskRef transfer, std::uint64_t number) {
    Replica& target = r.replica_on(to);
    target.arrival = transfer;
    target.arrived = number;
    target.source = from;
    target.former.clear();
    r.valid |= bit_of_node(to);
}

void Coherence::prefetch(Version& version, Node node, Purpose purpose) {
    Residency& r = residency(version);
    if (r.valid_on(node)) return;
    if (node != host_node && (lost(node) || !reserve_for(r, node, purpose))) return;
    fetch(r, node, purpose);
}

void Coherence::broadcast(Version& version, const std::vector<Node>& nodes, Purpose purpose, bool by_source) {
    Residency& r = residency(version);
    std::vector<Node> targets;
    for (const Node node : nodes) {
        if (!r.valid_on(node) && !lost(node) && reserve_for(r, node, purpose)) targets.push_back(node);
    }
    if (targets.empty()) return;
    const Node from = source_for(r, targets.front());
    // a ring begins behind its source: in most steps of a factorization that GPU needs the panel first
    std::rotate(targets.begin(), std::upper_bound(targets.begin(), targets.end(), from), targets.end());
    const auto direct = [&](Node node) { return from == host_node || device_of(from).reaches(device_of(node)); };
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
    DeviceWork& work =
        task.make_runtime_work(device, role, "broadcast", purpose.priority, {device_of_node(from), -1, -1});
    task.task().step = purpose.step;
    work.has_parts.store(true, std::memory_order_relaxed);
    task.bind_all_rows(version, r.row_begin, r.row_end);
    task.wait_for(r.replica_on(from).arrival);
    for (const TaskRef user : waits) task.wait_for(user);

    BroadcastPlan plan;
    plan.source = from == host_node ? nullptr : &device_of(from);
    plan.from = contents_at(r, from);
    plan.bytes = contents_bytes(r);
    plan.from_source_only = by_source;
    for (const Node node : targets) {
        plan.targets.push_back({&device_of(node), contents_at(r, node)});
    }
    const std::uint64_t number = ++transfers_;
    work.failed = [this, &r, targets, number, device] {
        for (const Node node : targets) copy_failed(r, node, number, device);
    };
    work.operation = [plan](Driver& driver, Enqueued& streams) { driver.broadcast(plan, streams); };
    task.record_hazards();
    for (const Node node : targets) note_arrival(r, from, node, task.task().ref(), number);
    engine_.release_submission(task);
}

}  // namespace basalt::detail
