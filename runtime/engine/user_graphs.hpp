#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "basalt/graph.hpp"
#include "base/process.hpp"
#include "runtime/engine/waiting.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

class UserGraphs;

/// What a Graph and its runtime share. The scope is used as long as the runtime has not ended.
struct GraphState {
    GraphState(Runtime& runtime, TaskGraph& graph, Waiting& waiting, UserGraphs& graphs, int priority)
        : runtime(runtime), graph(graph), waiting(waiting), graphs(graphs), scope(graph.root(), priority) {}
    ~GraphState() {
        if (!runtime_ended.load(std::memory_order_acquire)) graph.outcomes().forget_dropped(scope);
    }
    GraphState(const GraphState&) = delete;
    GraphState& operator=(const GraphState&) = delete;

    /// Throws UsageError where the runtime was left behind, see ProcessMark, or has ended.
    void require_runtime(const char* what) const;
    /// Throws UsageError where there is no runtime to use any more, and inside a task, for which `what` is not allowed.
    void check_usable(const char* what) const;

    const ProcessMark mark{};
    Runtime& runtime;
    TaskGraph& graph;
    Waiting& waiting;
    UserGraphs& graphs;
    Scope scope;
    std::atomic<bool> runtime_ended{false};  ///< then the references lead nowhere
};

/// The graphs that the program has made on one runtime. Thread-safe.
class UserGraphs {
  public:
    UserGraphs(TaskGraph& graph, Waiting& waiting) : graph_(graph), waiting_(waiting) {}

    /// Throws UsageError inside a task.
    std::shared_ptr<GraphState> make(Runtime& runtime, int priority);
    /// The program has given up the graph where it must not wait, perhaps inside one of its tasks: it lives on until
    /// its tasks have completed.
    void keep(std::shared_ptr<GraphState> state);
    /// The runtime ends: waits for all graphs, and logs errors that no wait() has seen.
    void end() noexcept;

  private:
    TaskGraph& graph_;
    Waiting& waiting_;
    std::mutex lock_;  // guards the lists
    std::vector<std::weak_ptr<GraphState>> graphs_;
    std::vector<std::shared_ptr<GraphState>> kept_;
};

}  // namespace basalt::detail
