#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/execution/parking.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/graph/worker.hpp"
#include "runtime/workers/outside_place.hpp"

namespace basalt::detail {

/// How many tasks of the runtime's own graph are in flight. There is no shared counter: each place and driver counts
/// what it finished, and the difference to what was submitted is taken when somebody asks.
class Progress {
  public:
    Progress(const TaskGraph& graph, ParkingLot& parking, OutsidePlace& outside)
        : graph_(graph), root_(graph.root()), parking_(parking), outside_(outside) {}

    /// Tasks finish there too. Before the first task is submitted.
    void count(const Worker& worker) { workers_.push_back(&worker); }

    std::uint64_t completed() const;
    std::uint64_t in_flight() const;
    /// Whether nothing is in flight in any graph.
    bool idle() const { return in_flight() == 0 && graph_.busy_graphs() == 0; }
    /// Changes whenever a kernel begins or a task of level 0 completes.
    std::uint64_t activity() const;
    /// "'update' on worker 1": the tasks whose kernels run, for messages.
    std::string running() const;
    /// Wakes threads that wait for everything if nothing is in flight. Called by threads that run out of work.
    void announce_quiescence();

  private:
    const TaskGraph& graph_;
    const Scope& root_;
    ParkingLot& parking_;
    OutsidePlace& outside_;
    std::vector<const Worker*> workers_;
};

}  // namespace basalt::detail
