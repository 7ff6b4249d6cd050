#include "runtime/memory/transfers.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "runtime/device/broadcast.hpp"
#include "runtime/graph/datum.hpp"

namespace basalt::detail {

namespace {

/// Bytes from one row to the next in a replica: on devices rows follow each other.
std::size_t pitch_at(const Datum& datum, Node node) {
    return node == host_node ? datum.element_size * static_cast<std::size_t>(datum.ld) : datum.row_bytes();
}

/// The first row that has contents, at a replica's address.
std::byte* contents_at(const Residency& residency, Node node) {
    return static_cast<std::byte*>(residency.replica_on(node).memory) +
           pitch_at(*residency.version->datum, node) * static_cast<std::size_t>(residency.row_begin);
}

std::size_t contents_bytes(const Residency& residency) {
    return residency.version->datum->row_bytes() * static_cast<std::size_t>(residency.row_end - residency.row_begin);
}

Copy copy_of_contents(const Residency& residency, Node from, Node to) {
    const Datum& datum = *residency.version->datum;
    if (!datum.strided() || (from != host_node && to != host_node)) {
        return {contents_at(residency, to), contents_at(residency, from), contents_bytes(residency)};
    }
    return {.to = contents_at(residency, to),
            .from = contents_at(residency, from),
            .row_bytes = datum.row_bytes(),
            .rows = static_cast<std::size_t>(residency.row_end - residency.row_begin),
            .to_pitch = pitch_at(datum, to),
            .from_pitch = pitch_at(datum, from)};
}

StreamRole stream_of_copy(Node from, Node to) {
    if (from == host_node) return StreamRole::from_host;
    return to == host_node ? StreamRole::to_host : StreamRole::peer;
}

/// The devices that take part in a copy; traces show them.
TileIndex devices_of_copy(Node from, Node to) {
    if (from == host_node) return {device_of_node(to)};
    if (to == host_node) return {device_of_node(from)};
    return {device_of_node(from), device_of_node(to)};
}

}  // namespace

bool Transfers::reaches(Node from, Node to) const {
    return from == host_node || to == host_node || device_of(from).reaches(device_of(to));
}

/// From a device if one is valid and within reach: devices are linked faster to each other than to the host.
Node Transfers::source_for(const Residency& r, Node node) const {
    std::optional<Node> lost;
    std::optional<Node> far;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        const Node from = node_of_device(static_cast<int>(d));
        if (!r.valid_on(from)) continue;
        if (devices_[d]->lost()) {
            lost = from;
        } else if (reaches(from, node)) {
            return from;
        } else {
            far = from;
        }
    }
    if (r.valid_on(host_node)) return host_node;
    if (far) return *far;
    throw DeviceError("the contents of '" + r.version->datum->name + "' were on " + device_of(lost.value()).name() +
                          ", which is lost",
                      device_of_node(*lost), DeviceFault::device_lost);
}

void Transfers::fetch(Residency& r, Node node, Purpose purpose) {
    const Node from = source_for(r, node);
    if (!reaches(from, node)) {
        submit_copy(r, from, host_node, purpose);
        submit_copy(r, host_node, node, purpose);
        return;
    }
    submit_copy(r, from, node, purpose);
}

/// What a copy to the node must not overtake: users of the replica that it overwrites, which may be readers that the
/// copy need not wait for as a reader itself, and of the memory's former tenant.
TaskGroup Transfers::hazards_of_copy(Residency& r, Node node) const {
    TaskGroup waits = r.replica_on(node).former;
    r.version->accesses.for_each_user([&](TaskRef user, Use use) {
        if (use == Use::shared && graph_.uses_node(user, node)) waits.push_back(user);
    });
    return waits;
}

/// A task that reads the contents on `from` and runs on the stream of copies to `to`.
DeviceWork& Transfers::begin(TaskBuilder& task, Residency& r, Node from, Node to, const char* name, Purpose purpose) {
    const int device = from == host_node ? device_of_node(to) : device_of_node(from);
    DeviceWork& work = task.run_on(device, stream_of_copy(from, to), Task::several_nodes);
    work.one_memory.store(false, std::memory_order_relaxed);
    task.make_internal(name, purpose.priority);
    task.task().step = PackedStep(purpose.step);
    task.bind_all(*r.version, r.row_begin, r.row_end, AccessMode::read);
    task.wait_for(r.replica_on(from).arrival);
    return work;
}

/// Submits the transfer; from now on the contents are valid on the targets.
void Transfers::finish(TaskBuilder& task, Residency& r, Node from, const std::vector<Node>& targets, Purpose purpose) {
    DeviceWork& work = *task.task().on_device();
    const std::uint64_t number = ++transfers_;
    work.failed = [this, &r, targets, number, device = work.device, gathers = purpose.gathers] {
        if (gathers) return graph_.unwritten().lose(*r.version, "a transfer of it failed");
        for (const Node node : targets) {
            failures_.note(r, node, number, device);
            graph_.unwritten().lose(*r.version, "a transfer of it failed", node);
        }
    };
    task.record_hazards();
    for (const Node node : targets) {
        Replica& target = r.replica_on(node);
        target.arrival = task.task().ref();
        target.arrived = number;
        target.source = from;
        target.former.clear();
        r.valid |= bit_of_node(node);
    }
    task.submit();
}

void Transfers::submit_copy(Residency& r, Node from, Node to, Purpose purpose) {
    const TaskGroup waits = hazards_of_copy(r, to);
    TaskBuilder task(graph_, graph_.current_graph());
    DeviceWork& work = begin(task, r, from, to, to == host_node ? "to host" : "to gpu", purpose);
    task.task().tile = devices_of_copy(from, to);
    for (const TaskRef user : waits) task.wait_for(user);

    const Copy copy = copy_of_contents(r, from, to);
    Device* peer = work.role == StreamRole::peer ? &device_of(to) : nullptr;
    work.bytes = static_cast<std::int64_t>(copy.row_bytes * copy.rows);
    work.operation = [copy, role = work.role, peer](const DeviceTurn& turn) {
        enqueue_copy(turn.device, role, copy, peer);
    };
    finish(task, r, from, {to}, purpose);
}

void Transfers::broadcast(Residency& r, std::vector<Node> targets, Purpose purpose, BroadcastRoute route) {
    if (targets.empty()) return;
    const Node from = source_for(r, targets.front());
    if (from == host_node && r.version->datum->strided()) {  // what is passed on has no gaps
        fetch(r, targets.front(), purpose);
        targets.erase(targets.begin());
        return broadcast(r, std::move(targets), purpose, route);
    }
    // a ring begins behind its source: in most steps of a factorization that GPU needs the panel first
    std::rotate(targets.begin(), std::upper_bound(targets.begin(), targets.end(), from), targets.end());
    const auto direct = [&](Node node) { return reaches(from, node); };
    if (targets.size() == 1 || !std::all_of(targets.begin(), targets.end(), direct)) {
        for (const Node node : targets) fetch(r, node, purpose);  // where peers do not reach each other: by the host
    } else {
        submit_broadcast(r, from, targets, purpose, route);
    }
}

void Transfers::submit_broadcast(Residency& r, Node from, const std::vector<Node>& targets, Purpose purpose,
                                 BroadcastRoute route) {
    TaskGroup waits;
    for (const Node node : targets) {
        for (const TaskRef user : hazards_of_copy(r, node)) waits.push_back(user);
    }
    TaskBuilder task(graph_, graph_.current_graph());
    DeviceWork& work = begin(task, r, from, targets.front(), "broadcast", purpose);
    if (from != host_node) task.task().tile = {device_of_node(from)};
    work.has_parts.store(true, std::memory_order_relaxed);
    for (const TaskRef user : waits) task.wait_for(user);

    BroadcastPlan plan;
    plan.source = from == host_node ? nullptr : &device_of(from);
    plan.from = contents_at(r, from);
    plan.bytes = contents_bytes(r);
    plan.from_source_only = route == BroadcastRoute::from_source;
    for (const Node node : targets) plan.targets.push_back({&device_of(node), contents_at(r, node)});
    work.operation = [plan](const DeviceTurn& turn) { turn.streams = enqueue_broadcast(plan, turn.spans); };
    finish(task, r, from, targets, purpose);
}

}  // namespace basalt::detail
