#include "runtime/recording/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "runtime/graph/access_binding.hpp"
#include "runtime/graph/array_memory.hpp"
#include "runtime/recording/replay_queue.hpp"

namespace basalt::detail {

namespace {

constexpr std::uint32_t no_node = 0xffffffff;
/// Marks the numbers of nodes that stand for many readers, until the number of tasks is known.
constexpr std::uint32_t joined_bit = std::uint32_t{1} << 31;
constexpr std::size_t most_tasks = std::size_t{1} << 24;
/// A datum of which tasks use more different regions counts as used from the first to the last of them.
constexpr std::size_t most_uses = 16;

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

Recorder::Recorder(TaskGraph& graph, const Machine& machine)
    : graph_(graph), id_(next_id()), machine_(machine), recorded_(std::make_unique<RecordedGraph>()) {}

void Recorder::check(const TaskOptions& options, const AccessRecord& record) const {
    check_region(graph_, graph_.root(), record);
    const Datum& datum = *record.datum;
    if (datum.renameable || datum.borrowed || datum.whole != nullptr) return;
    throw UsageError("task '" + std::string(options.name.c_str()) + "' accesses '" + datum.name +
                     "', which belongs to a Matrix; allowed in a Recording are arrays and their blocks");
}

/// The edges are found datum by datum, so no two data may have elements in common.
void Recorder::refuse_overlap(const TaskOptions& options, Datum& datum) const {
    if (!datum.shares_memory) return;
    for_each_overlapping(datum, [&](const Datum& other) {
        if (known_.count(&other) == 0) return;
        throw UsageError("task '" + std::string(options.name.c_str()) + "' accesses " + datum.label() +
                         ", which has elements in common with " + other.label() +
                         "; allowed in a Recording are blocks of one array that do not overlap, such as those of one "
                         "partition");
    });
}

void Recorder::check_followed(const TaskOptions& options, std::span<const TaskHandle> after) const {
    for (const TaskHandle& handle : after) {
        if (handle == TaskHandle() || HandleAccess::number_in(handle, id_)) continue;
        throw UsageError("task '" + std::string(options.name.c_str()) +
                         "': after() got the handle of a task that is not part of the Recording; allowed are those of "
                         "tasks that were recorded before");
    }
}

/// The task that is being added follows others of the recording.
void Recorder::follow(std::span<const TaskHandle> after) {
    for (const TaskHandle& handle : after) {
        const auto number = HandleAccess::number_in(handle, id_);
        if (!number) continue;  // of no task
        depend_on({*number, 0});
        recorded_->followed.push_back(*number);
        recorded_->some_handle = handle;
        ++recorded_->tasks.back().followed;
    }
}

Submitted Recorder::add(const Call& call) {
    const auto& [options, records, ops, source, after] = call;
    const std::size_t count = records.size();
    RecordedGraph& graph = *recorded_;
    if (graph.tasks.size() == most_tasks) {
        throw UsageError("a Recording of more than " + std::to_string(most_tasks) + " tasks");
    }
    if (ops.reduction != nullptr) {
        throw UsageError(
            "task '" + std::string(options.name.c_str()) +
            "': reduce() while a Recording is made; allowed are read(), write(), readwrite() and commute()");
    }
    check_followed(options, after);
    for (const AccessRecord& record : records) check(options, record);
    std::vector<void*> bases(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* const base = graph.bases[know(options, records[i]).number];
        bases[i] = is_empty(records[i]) ? nullptr : base;
    }
    void* kernel = graph.closures.make(ops, source, bases.data());
    graph.priority = graph.tasks.empty() ? options.priority : std::max(graph.priority, options.priority);
    graph.tasks.push_back(
        {options, &ops, kernel, graph.accesses.size(), static_cast<std::uint32_t>(count), graph.followed.size(), 0});

    current_ = static_cast<std::uint32_t>(graph.tasks.size() - 1);
    last_successor_.push_back(no_node);
    follow(after);
    for (std::size_t i = 0; i < count; ++i) {
        const AccessRecord& r = records[i];
        KnownDatum& datum = known_.at(r.datum);
        graph.accesses.push_back({r.row_begin, r.row_end, r.col_begin, r.col_end, datum.number, r.mode});
        if (is_empty(r)) continue;
        // commuting tasks keep the order in which they were recorded, which is one of those that they allow
        BoundAccess access(nullptr, r);
        if (access.mode == AccessMode::commute) access.mode = AccessMode::readwrite;
        datum.users.record({current_, 0}, access, *this);
        note_use(datum.uses, {datum.number, writes(r.mode), r.row_begin, r.row_end, r.col_begin, r.col_end});
    }
    const bool gang = std::min(options.threads.max, machine_.workers) > 1;
    const bool may_use_gpu = machine_.has_gpus && ops.run_on_device != nullptr && !options.place.is_cpu();
    if (gang || may_use_gpu || ops.run == nullptr || options.place.is_gpu()) graph.on_cores = false;
    return HandleAccess::recorded(current_, id_);
}

Recorder::KnownDatum& Recorder::know(const TaskOptions& options, const AccessRecord& record) {
    if (known_.count(record.datum) == 0) refuse_overlap(options, *record.datum);
    const auto [entry, fresh] = known_.try_emplace(record.datum);
    if (fresh) {
        const Datum& datum = *record.datum;
        RecordedGraph& graph = *recorded_;
        entry->second.number = static_cast<std::uint32_t>(graph.data.size());
        graph.data.push_back({&datum, record.generation, datum.name, datum.rows, datum.cols, datum.ld, datum.by_columns,
                              datum.element_size});
        graph.bases.push_back(static_cast<std::byte*>(resolve(graph_.root(), record).base));
    }
    return entry->second;
}

void Recorder::note_use(std::vector<RecordedUse>& uses, const RecordedUse& use) {
    for (RecordedUse& known : uses) {
        if (known.row_begin != use.row_begin || known.row_end != use.row_end || known.col_begin != use.col_begin ||
            known.col_end != use.col_end) {
            continue;
        }
        known.writes = known.writes || use.writes;
        return;
    }
    uses.push_back(use);
    if (uses.size() <= most_uses) return;
    RecordedUse all = use;
    for (const RecordedUse& other : uses) {
        all.writes = all.writes || other.writes;
        all.row_begin = std::min(all.row_begin, other.row_begin);
        all.row_end = std::max(all.row_end, other.row_end);
        all.col_begin = std::min(all.col_begin, other.col_begin);
        all.col_end = std::max(all.col_end, other.col_end);
    }
    uses.assign(1, all);
}

void Recorder::depend_on(TaskRef predecessor) {
    if (!predecessor.valid() || predecessor.slot == current_) return;
    const bool joined = (predecessor.slot & joined_bit) != 0;
    std::uint32_t& last =
        joined ? last_successor_of_joined_[predecessor.slot & ~joined_bit] : last_successor_[predecessor.slot];
    if (last == current_) return;
    last = current_;
    edges_.emplace_back(predecessor.slot, current_);
}

TaskRef Recorder::join(const TaskGroup& tasks) {
    const std::uint32_t node = joined_bit | joined_++;
    last_successor_of_joined_.push_back(no_node);
    const std::uint32_t task = std::exchange(current_, node);
    for (const TaskRef member : tasks) {
        if (member.slot != task) depend_on(member);
    }
    current_ = task;
    return {node, 0};
}

std::unique_ptr<RecordedGraph> Recorder::finish() {
    RecordedGraph& graph = *recorded_;
    graph.data_of_accesses.reserve(graph.accesses.size());
    for (const RecordedAccess& access : graph.accesses) {
        const bool moves = !access.empty();
        graph.data_of_accesses.push_back(moves ? access.datum : static_cast<std::uint32_t>(graph.data.size()));
    }
    graph.uses.reserve(known_.size());
    for (const auto& [datum, known] : known_) graph.uses.insert(graph.uses.end(), known.uses.begin(), known.uses.end());
    // a run binds its data in the order in which the program first used them
    std::sort(graph.uses.begin(), graph.uses.end(), [](const RecordedUse& a, const RecordedUse& b) {
        return std::pair(a.datum, a.row_begin) < std::pair(b.datum, b.row_begin);
    });
    if (graph.on_cores) make_nodes();
    return std::move(recorded_);
}

void Recorder::make_nodes() {
    RecordedGraph& graph = *recorded_;
    graph.node_count = static_cast<std::uint32_t>(graph.tasks.size()) + joined_;
    const std::vector<std::uint32_t> ranks = rank_priorities();
    const SortedEdges edges = sorted_edges(ranks);
    const std::vector<std::uint32_t> order = order_of_one_worker(ranks, edges);
    std::vector<std::uint32_t> position(graph.node_count);
    for (std::uint32_t i = 0; i < graph.node_count; ++i) position[order[i]] = i;

    graph.memory_of_nodes = HostBuffer(graph.node_count * sizeof(RecordedNode));
    graph.nodes = static_cast<RecordedNode*>(graph.memory_of_nodes.data());
    std::uninitialized_default_construct_n(graph.nodes, graph.node_count);
    graph.successors.reserve(edges_.size());
    bool all_moved = true;
    for (std::uint32_t i = 0; i < graph.node_count; ++i) {
        RecordedNode& node = graph.nodes[i];
        node.rank = ranks[order[i]];
        node.first_successor = static_cast<std::uint32_t>(graph.successors.size());
        for (const std::uint32_t successor : edges.from(order[i])) graph.successors.push_back(position[successor]);
        node.successors = static_cast<std::uint32_t>(graph.successors.size()) - node.first_successor;
        graph.predecessor_counts.push_back(edges.predecessor_counts[order[i]]);
        node.task = order[i];
        graph.kernels.push_back(reinterpret_cast<const std::byte*>(&node));  // what is fetched where there is no kernel
        if (order[i] >= graph.tasks.size()) continue;
        RecordedGraph::Submitted& task = graph.tasks[order[i]];
        if (task.ops->moves_as_bytes) task.kernel = graph.closures_in_order.take(*task.ops, task.kernel);
        all_moved = all_moved && task.ops->moves_as_bytes;
        node.ops = task.ops;
        node.kernel = task.kernel;
        graph.kernels.back() = static_cast<const std::byte*>(task.kernel);
        node.name = task.options.name.c_str();
        node.tile = task.options.tile;
        node.step = PackedStep(task.options.step);
        node.first_access = static_cast<std::uint32_t>(graph.data_in_order.size());
        const std::span data = std::span(graph.data_of_accesses).subspan(task.first_access, task.accesses);
        graph.data_in_order.insert(graph.data_in_order.end(), data.begin(), data.end());
    }
    if (all_moved) graph.closures.clear();
    graph.data_of_accesses.clear();
    graph.data_of_accesses.shrink_to_fit();
    for (const std::uint32_t root : edges.roots) graph.roots.push_back(position[root]);
}

/// Of each node, by its number in program order.
std::vector<std::uint32_t> Recorder::rank_priorities() {
    RecordedGraph& graph = *recorded_;
    std::vector<int> priorities;
    for (const RecordedGraph::Submitted& task : graph.tasks) priorities.push_back(task.options.priority);
    std::sort(priorities.begin(), priorities.end());
    priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
    graph.ranks = static_cast<std::uint32_t>(std::clamp<std::size_t>(priorities.size(), 1, ReplayQueue::most_ranks));
    // who waits for many readers waits no longer than it must
    std::vector<std::uint32_t> ranks(graph.node_count, graph.ranks - 1);
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        const auto place = std::lower_bound(priorities.begin(), priorities.end(), graph.tasks[i].options.priority);
        const auto index = static_cast<std::size_t>(place - priorities.begin());
        ranks[i] = static_cast<std::uint32_t>(index * graph.ranks / priorities.size());
    }
    return ranks;
}

Recorder::SortedEdges Recorder::sorted_edges(const std::vector<std::uint32_t>& ranks) {
    const auto tasks = static_cast<std::uint32_t>(recorded_->tasks.size());
    const std::uint32_t nodes = recorded_->node_count;
    const auto number = [&](std::uint32_t node) {
        return (node & joined_bit) != 0 ? tasks + (node & ~joined_bit) : node;
    };
    SortedEdges found;
    found.first.resize(nodes + 1);
    found.predecessor_counts.resize(nodes);
    for (auto& [before, after] : edges_) {
        before = number(before);
        after = number(after);
        ++found.first[before + 1];
        ++found.predecessor_counts[after];
    }
    for (std::uint32_t i = 0; i < nodes; ++i) found.first[i + 1] += found.first[i];
    std::vector<std::uint32_t> filled(found.first.begin(), found.first.end() - 1);
    found.all.resize(edges_.size());
    for (const auto& [before, after] : edges_) found.all[filled[before]++] = after;

    const auto runs_later = [&](std::uint32_t a, std::uint32_t b) {
        return ranks[a] != ranks[b] ? ranks[a] < ranks[b] : a > b;
    };
    for (std::uint32_t i = 0; i < nodes; ++i) {
        if (found.predecessor_counts[i] == 0) found.roots.push_back(i);
        std::sort(found.all.begin() + found.first[i], found.all.begin() + found.first[i + 1], runs_later);
    }
    std::sort(found.roots.begin(), found.roots.end(), runs_later);
    return found;
}

/// The order in which one worker would run all nodes, see Replay.
std::vector<std::uint32_t> Recorder::order_of_one_worker(const std::vector<std::uint32_t>& ranks,
                                                         const SortedEdges& edges) const {
    ReplayQueue queue(recorded_->ranks);
    const auto rank = [&](std::uint32_t node) { return ranks[node]; };
    queue.push(edges.roots.data(), edges.roots.size(), rank);
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> pending = edges.predecessor_counts;
    std::vector<std::uint32_t> ready;
    order.reserve(recorded_->node_count);
    while (const auto first = queue.pop([](std::uint32_t) {})) {
        for (std::optional<std::uint32_t> next = first; next;) {
            order.push_back(*next);
            ready.clear();
            for (const std::uint32_t successor : edges.from(*next)) {
                if (--pending[successor] == 0) ready.push_back(successor);
            }
            next.reset();
            if (ready.empty()) continue;
            next = ready.back();
            queue.push(ready.data(), ready.size() - 1, rank);
        }
    }
    return order;
}

}  // namespace basalt::detail
