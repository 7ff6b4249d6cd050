#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "basalt/graph_drawing.hpp"
#include "basalt/task_handle.hpp"
#include "runtime/graph/access_map.hpp"
#include "runtime/graph/scope.hpp"

namespace basalt::detail {

/// The tasks of a drawing and the hazards between them. Keeps access maps of its own, in which no task ever completes
/// and nothing is renamed, so that the drawing of a program does not depend on how it ran. Thread-safe.
class DrawnGraph {
  public:
    explicit DrawnGraph(const GraphDrawing& drawing) : drawing_(drawing) {}

    /// Those of a task's reduce accesses, in their order.
    using Reductions = std::span<const std::shared_ptr<Reduction>>;
    /// The task is being submitted; under its order's lock.
    void note(const Task& task, std::span<const TaskHandle> after, Reductions reductions);

    std::string dot() const;
    /// Writes the file, if there is one; what goes wrong is logged.
    void write() const noexcept;

  private:
    /// What a task does with a datum. With a block: what it does with the block's array.
    struct Use {
        const Datum* datum;
        std::uint32_t generation;
        BoundAccess access;
        std::string name;
        std::weak_ptr<Reduction> reduction{};  ///< in which the task takes part, by a reduce access
    };
    struct Node {
        std::string label;
        std::vector<Use> uses;
    };
    enum class Arrow : std::uint8_t { hazard, commute, child, after };
    using Edge = std::tuple<std::uint32_t, std::uint32_t, Arrow>;  ///< from, to; tasks by their place in nodes_
    class Sink;

    void add(const Task& task, std::uint64_t number, std::span<const TaskHandle> after, Reductions reductions);
    static Use use_of(const BoundAccess& access);
    static bool in_one_group(const Use& one, const Use& other);
    void add_hazards(std::uint32_t self, std::uint64_t order);
    void add_edge(std::uint32_t from, std::uint32_t to, Arrow arrow, const std::string& label);
    void add_hazard(std::uint32_t from, std::uint32_t to, const Use& use);
    std::vector<std::uint32_t> tasks_of(TaskRef task) const;
    std::optional<std::uint32_t> join_group(const Use& use, AccessMap& map);

    const GraphDrawing drawing_;
    std::atomic<std::uint64_t> submitted_{0};

    mutable std::mutex lock_;  // guards what follows
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_ref_;  ///< the newest node of each task
    std::map<Edge, std::string> edges_;                        ///< their labels
    std::vector<std::vector<std::uint32_t>> groups_;           ///< that an access map joined
    std::map<std::tuple<std::uint64_t, const Datum*, std::uint32_t>, AccessMap> maps_;  ///< by order and datum
};

}  // namespace basalt::detail
