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
        for_each_task(predecessor, [&](std::uint32_t task) { graph_.add_hazard(task, self_, use_); });
    }
    bool completed(TaskRef) const override { return false; }
    TaskRef join(const TaskGroup& tasks) override {
        std::vector<std::uint32_t> members;
        for (const TaskRef member : tasks) {
            for_each_task(member, [&](std::uint32_t task) { members.push_back(task); });
        }
        graph_.groups_.push_back(std::move(members));
        return {first_group + static_cast<std::uint32_t>(graph_.groups_.size() - 1), 0};
    }
    TaskRef close(Reduction&) override { return {}; }  // the drawing knows no reductions, see add_hazards()

  private:
    template <class F>
    void for_each_task(TaskRef task, const F& visit) const {
        if (!task.valid()) return;
        if (task.slot < first_group) return visit(task.slot);
        for (const std::uint32_t member : graph_.groups_[task.slot - first_group]) visit(member);
    }

    DrawnGraph& graph_;
    const std::uint32_t self_;
    const Use& use_;
};

void DrawnGraph::note(const Task& task, std::span<const TaskHandle> after) {
    // relaxed: a number, and nothing else depends on it
    const std::uint64_t number = submitted_.fetch_add(1, std::memory_order_relaxed);
    if (number < drawing_.first || number - drawing_.first >= drawing_.count) return;
    const std::lock_guard guard(lock_);
    add(task, number, after);
}

void DrawnGraph::add(const Task& task, std::uint64_t number, std::span<const TaskHandle> after) {
    const auto self = static_cast<std::uint32_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.label = task_label(task) + "\n#" + std::to_string(number);
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        const Datum* datum = access[i].version->datum;
        node.uses.push_back({datum, datum->generation.load(std::memory_order_relaxed), access[i], datum->name});
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
        Sink sink(*this, self, use);
        BoundAccess access = use.access;
        if (commutes(access)) access.mode = AccessMode::commute;  // tasks that reduce stand side by side, too
        map.record({self, 0}, access, sink);
        if (commutes(access)) add_commuting(self, use, map);
    }
}

/// The tasks commute with the newest one before it that is in the same group.
void DrawnGraph::add_commuting(std::uint32_t self, const Use& use, const AccessMap& map) {
    std::optional<std::uint32_t> newest;
    map.for_each_user([&](TaskRef user, bool) {
        const std::uint32_t task = user.slot < first_group ? user.slot : groups_[user.slot - first_group].back();
        const std::vector<Use>& uses = nodes_[task].uses;
        const bool in_group = std::any_of(uses.begin(), uses.end(), [&](const Use& other) {
            return other.datum == use.datum && commutes(other.access) && regions_overlap(other.access, use.access);
        });
        if (task < self && in_group) newest = std::max(newest.value_or(task), task);
    });
    if (newest) add_edge(*newest, self, Arrow::commute, std::string(mode_name(use.access.mode)) + " " + use.name);
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
