#include "runtime/recording/recorder.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "runtime/graph/access_binding.hpp"

namespace basalt::detail {

namespace {

constexpr std::uint32_t no_node = 0xffffffff;
/// Marks the numbers of nodes that stand for many readers, until the number of tasks is known.
constexpr std::uint32_t joined_bit = std::uint32_t{1} << 31;
constexpr std::size_t most_tasks = std::size_t{1} << 24;
/// A datum of which tasks use more different regions counts as used from the first to the last of them.
constexpr std::size_t most_uses = 16;
constexpr std::size_t most_ranks = 64;

}  // namespace

void Recorder::check(const TaskOptions& options, const AccessRecord& record) const {
    check_region(graph_, graph_.root(), record);
    const Datum& datum = *record.datum;
    if (datum.shares_memory || datum.strided()) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "' accesses '" + datum.name +
                         "', which is a block, is cut into blocks or has gaps between its columns; allowed in a "
                         "Recording are arrays in one piece");
    }
    if (datum.renameable || datum.borrowed) return;
    throw UsageError("task '" + std::string(options.name.c_str()) + "' accesses '" + datum.name +
                     "', which belongs to a Matrix; allowed in a Recording are arrays");
}

void Recorder::add(const TaskOptions& options, std::span<const AccessRecord> records, const KernelOps& ops,
                   void* source) {
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
    for (const AccessRecord& record : records) check(options, record);
    std::vector<void*> bases(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* const base = graph.bases[know(records[i]).number];
        bases[i] = is_empty(records[i]) ? nullptr : base;
    }
    void* kernel = graph.closures.make(ops, source, bases.data());
    graph.priority = graph.tasks.empty() ? options.priority : std::max(graph.priority, options.priority);
    graph.tasks.push_back({options, &ops, kernel, graph.accesses.size(), static_cast<std::uint32_t>(count)});

    current_ = static_cast<std::uint32_t>(graph.tasks.size() - 1);
    last_successor_.push_back(no_node);
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
    const bool gang = std::min(options.threads.max, workers_) > 1;
    const bool may_use_gpu = gpus_ && ops.run_on_device != nullptr && !options.place.is_cpu();
    if (gang || may_use_gpu || ops.run == nullptr || options.place.is_gpu()) graph.on_cores = false;
}

Recorder::KnownDatum& Recorder::know(const AccessRecord& record) {
    const auto [entry, fresh] = known_.try_emplace(record.datum);
    if (fresh) {
        const Datum& datum = *record.datum;
        RecordedGraph& graph = *recorded_;
        entry->second.number = static_cast<std::uint32_t>(graph.data.size());
        graph.data.push_back({&datum, record.generation, datum.name, datum.rows, datum.cols, datum.element_size});
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
    const auto tasks = static_cast<std::uint32_t>(graph.tasks.size());
    graph.node_count = tasks + joined_;
    graph.memory_of_nodes = HostBuffer(graph.node_count * sizeof(RecordedNode));
    graph.nodes = static_cast<RecordedNode*>(graph.memory_of_nodes.data());
    std::uninitialized_default_construct_n(graph.nodes, graph.node_count);
    graph.kernels.resize(graph.node_count);
    for (std::uint32_t i = 0; i < tasks; ++i) {
        const RecordedGraph::Submitted& task = graph.tasks[i];
        RecordedNode& node = graph.nodes[i];
        node.ops = task.ops;
        node.kernel = task.kernel;
        graph.kernels[i] = static_cast<const std::byte*>(task.kernel);
        node.name = task.options.name.c_str();
        node.tile = task.options.tile;
        node.step = PackedStep(task.options.step);
        node.first_access = static_cast<std::uint32_t>(task.first_access);
    }
    rank_priorities();
    make_successors();
}

void Recorder::rank_priorities() {
    RecordedGraph& graph = *recorded_;
    std::vector<int> priorities;
    for (const RecordedGraph::Submitted& task : graph.tasks) priorities.push_back(task.options.priority);
    std::sort(priorities.begin(), priorities.end());
    priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
    graph.ranks = static_cast<std::uint32_t>(std::clamp<std::size_t>(priorities.size(), 1, most_ranks));
    for (std::uint32_t i = 0; i < graph.node_count; ++i) {
        graph.nodes[i].rank = graph.ranks - 1;  // who waits for many readers waits no longer than it must
        if (i >= graph.tasks.size()) continue;
        const auto place = std::lower_bound(priorities.begin(), priorities.end(), graph.tasks[i].options.priority);
        const auto index = static_cast<std::size_t>(place - priorities.begin());
        graph.nodes[i].rank = static_cast<std::uint32_t>(index * graph.ranks / priorities.size());
    }
}

void Recorder::make_successors() {
    RecordedGraph& graph = *recorded_;
    RecordedNode* const nodes = graph.nodes;
    const auto tasks = static_cast<std::uint32_t>(graph.tasks.size());
    const auto number = [&](std::uint32_t node) {
        return (node & joined_bit) != 0 ? tasks + (node & ~joined_bit) : node;
    };
    for (auto& [before, after] : edges_) {
        before = number(before);
        after = number(after);
        ++nodes[before].successors;
        ++nodes[after].predecessors;
    }
    const auto runs_later = [&](std::uint32_t a, std::uint32_t b) {
        return nodes[a].rank != nodes[b].rank ? nodes[a].rank < nodes[b].rank : a > b;
    };
    graph.successors.resize(edges_.size());
    std::vector<std::uint32_t> filled(graph.node_count);
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < graph.node_count; ++i) {
        nodes[i].first_successor = filled[i] = first;
        first += nodes[i].successors;
        nodes[i].pending.store(nodes[i].predecessors, std::memory_order_relaxed);
        if (nodes[i].predecessors == 0) graph.roots.push_back(i);
    }
    for (const auto& [before, after] : edges_) graph.successors[filled[before]++] = after;
    for (std::uint32_t i = 0; i < graph.node_count; ++i) {
        const auto begin = graph.successors.begin() + nodes[i].first_successor;
        std::sort(begin, begin + nodes[i].successors, runs_later);
    }
    std::sort(graph.roots.begin(), graph.roots.end(), runs_later);
}

}  // namespace basalt::detail
