#include "runtime/observe/drawn_graph.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include <spdlog/spdlog.h>

#include "base/utf8.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/graph/region_overlap.hpp"

namespace basalt::detail {

namespace {

/// Numbers of groups in access maps, above those of tasks.
constexpr std::uint32_t first_group = 1U << 30;

/// In double quotes, as DOT has it. Bytes that are no text become question marks.
std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const char c = text.front();
        if (c == '\n') {
            out += "\\n";
        } else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += '?';
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out + '"';
}

/// Whether tasks with this access to a region stand side by side, in any order.
bool commutes(const BoundAccess& access) {
    return access.mode == AccessMode::commute || access.mode == AccessMode::reduce;
}

}  // namespace

/// Takes what the access map of one datum finds for one access.
class DrawnGraph::Sink final : public DependencySink {
  public:
    Sink(DrawnGraph& graph, std::uint32_t self, const Use& use) : graph_(graph), self_(self), use_(use) {}

    void depend_on(TaskRef predecessor) override {
        for (const std::uint32_t task : graph_.tasks_of(predecessor)) graph_.add_hazard(task, self_, use_);
    }
    bool completed(TaskRef) const override { return false; }
    TaskRef join(const TaskGroup& tasks) override {
        std::vector<std::uint32_t> members;
        for (const TaskRef member : tasks) {
            const std::vector<std::uint32_t> more = graph_.tasks_of(member);
            members.insert(members.end(), more.begin(), more.end());
        }
        graph_.groups_.push_back(std::move(members));
        return {first_group + static_cast<std::uint32_t>(graph_.groups_.size() - 1), 0};
    }
    TaskRef close(Reduction&) override { return {}; }  // its maps know no reductions, see add_hazards()

  private:
    DrawnGraph& graph_;
    const std::uint32_t self_;
    const Use& use_;
};

/// The task, or those that an access map joined.
std::vector<std::uint32_t> DrawnGraph::tasks_of(TaskRef task) const {
    if (!task.valid()) return {};
    return task.slot < first_group ? std::vector{task.slot} : groups_[task.slot - first_group];
}

void DrawnGraph::note(const Task& task, std::span<const TaskHandle> after, Reductions reductions) {
    // relaxed: a number, and nothing else depends on it
    const std::uint64_t number = submitted_.fetch_add(1, std::memory_order_relaxed);
    if (number < drawing_.first || number - drawing_.first >= drawing_.count) return;
    const std::lock_guard guard(lock_);
    add(task, number, after, reductions);
}

DrawnGraph::Use DrawnGraph::use_of(const BoundAccess& access) {
    const Datum& datum = *access.version->datum;
    const Datum& array = datum.whole != nullptr ? *datum.whole->datum : datum;
    BoundAccess in_array = access;
    in_array.row_begin += datum.first_row;
    in_array.row_end += datum.first_row;
    in_array.col_begin = static_cast<std::int32_t>(datum.first_col + access.col_begin);
    in_array.col_end = static_cast<std::int32_t>(datum.first_col + access.col_end);
    return {&array, array.generation.load(std::memory_order_relaxed), in_array, datum.name};
}

void DrawnGraph::add(const Task& task, std::uint64_t number, std::span<const TaskHandle> after, Reductions reductions) {
    const auto self = static_cast<std::uint32_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.label = task_label(task) + "\n#" + std::to_string(number);
    const BoundAccess* access = task.access_begin();
    auto reduction = reductions.begin();
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        Use& use = node.uses.emplace_back(use_of(access[i]));
        if (use.access.mode == AccessMode::reduce) use.reduction = *reduction++;
    }
    by_ref_[packed(task.ref())] = self;
    if (const Task* owner = task.scope->owner) {
        const auto parent = by_ref_.find(packed(owner->ref()));
        if (parent != by_ref_.end()) add_edge(parent->second, self, Arrow::child, "child");
    }
    for (const TaskHandle& handle : after) {
        const auto before = handle.valid() ? by_ref_.find(packed(HandleAccess::task(handle))) : by_ref_.end();
        if (before != by_ref_.end()) add_edge(before->second, self, Arrow::after, "after");
    }
    add_hazards(self, task.scope->order.id);
}

void DrawnGraph::add_hazards(std::uint32_t self, std::uint64_t order) {
    for (const Use& use : nodes_[self].uses) {
        AccessMap& map = maps_[{order, use.datum, use.generation}];
        std::optional<std::uint32_t> newest;
        BoundAccess access = use.access;
        if (commutes(access)) {
            newest = join_group(use, map);
            access.mode = AccessMode::commute;  // tasks of one reduction stand side by side, too
        }
        Sink sink(*this, self, use);
        map.record({self, 0}, access, sink);
        if (newest) add_edge(*newest, self, Arrow::commute, std::string(mode_name(use.access.mode)) + " " + use.name);
    }
}

/// Whether the order of two tasks with these uses of one region does not matter.
bool DrawnGraph::in_one_group(const Use& one, const Use& other) {
    return one.access.mode == other.access.mode && !one.reduction.owner_before(other.reduction) &&
           !other.reduction.owner_before(one.reduction);
}

/// The newest task with which a task with this use commutes; empty if there is none. If tasks commute on the region
/// that are of another group, they are all in front of the new task: the map knows them as its last writer then.
std::optional<std::uint32_t> DrawnGraph::join_group(const Use& use, AccessMap& map) {
    std::vector<std::uint32_t> others;
    std::optional<std::uint32_t> newest;
    map.for_each_commuting(use.access, [&](TaskRef member) {
        for (const std::uint32_t task : tasks_of(member)) {
            for (const Use& earlier : nodes_[task].uses) {
                if (earlier.datum != use.datum || !regions_overlap(earlier.access, use.access)) continue;
                if (in_one_group(earlier, use)) {
                    newest = std::max(newest.value_or(task), task);
                } else {
                    others.push_back(task);
                }
            }
        }
    });
    if (others.empty()) return newest;
    class Nobody final : public DependencySink {
      public:
        void depend_on(TaskRef) override {}
        bool completed(TaskRef) const override { return false; }
        TaskRef join(const TaskGroup&) override { return {}; }
        TaskRef close(Reduction&) override { return {}; }
    } nobody;
    groups_.push_back(std::move(others));
    BoundAccess written = use.access;
    written.mode = AccessMode::readwrite;
    map.record({first_group + static_cast<std::uint32_t>(groups_.size() - 1), 0}, written, nobody);
    return std::nullopt;
}

/// A task that reads and writes depends on an earlier writer by what it reads.
void DrawnGraph::add_hazard(std::uint32_t from, std::uint32_t to, const Use& use) {
    if (from == to) return;
    const std::vector<Use>& uses = nodes_[from].uses;
    const bool after_write = std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
        return other.datum == use.datum && writes(other.access.mode) && regions_overlap(other.access, use.access);
    });
    const bool reads = use.access.mode != AccessMode::write;
    const char* kind = !after_write ? "WaR " : reads ? "RaW " : "WaW ";
    add_edge(from, to, Arrow::hazard, kind + use.name);
}

void DrawnGraph::add_edge(std::uint32_t from, std::uint32_t to, Arrow arrow, const std::string& label) {
    std::string& text = edges_[{from, to, arrow}];
    if (("\n" + text + "\n").find("\n" + label + "\n") != std::string::npos) return;
    text += (text.empty() ? "" : "\n") + label;
}

std::string DrawnGraph::dot() const {
    const std::lock_guard guard(lock_);
    std::string text = "digraph basalt {\n  node [shape=box];\n";
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        text += "  t" + std::to_string(i) + " [label=" + in_quotes(nodes_[i].label) + "];\n";
    }
    for (const auto& [edge, label] : edges_) {
        const auto& [from, to, arrow] = edge;
        text += "  t" + std::to_string(from) + " -> t" + std::to_string(to) + " [label=" + in_quotes(label);
        if (arrow == Arrow::commute) text += ", dir=none, style=dashed";
        if (arrow == Arrow::child) text += ", style=dotted";
        if (arrow == Arrow::after) text += ", style=bold";
        text += "];\n";
    }
    return text + "}\n";
}

void DrawnGraph::write() const noexcept {
    if (drawing_.file.empty()) return;
    try {
        std::ofstream out(drawing_.file);
        out << dot() << std::flush;
        if (!out) spdlog::error("basalt: '{}': the drawing of the graph could not be written", drawing_.file);
    } catch (const std::exception& error) {
        spdlog::error("basalt: '{}': the drawing of the graph could not be written: {}", drawing_.file, error.what());
    }
}

}  // namespace basalt::detail
