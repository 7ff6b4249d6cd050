#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
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
    /// Up to `most` workers.
    Progress(const TaskGraph& graph, ParkingLot& parking, OutsidePlace& outside, std::size_t most)
        : graph_(graph), root_(graph.root()), parking_(parking), outside_(outside) {
        workers_.list.resize(most);
    }

    /// Tasks finish there too, from now on. Thread-safe.
    void count(const Worker& worker);

    std::uint64_t completed() const;
    std::span<const Worker* const> workers() const { return workers_.all(); }
    std::uint64_t in_flight() const;
    /// Whether nothing is in flight in any graph.
    bool idle() const { return in_flight() == 0 && graph_.busy_graphs() == 0; }
    /// The same, but for nodes that the runtime keeps in a graph of its own.
    bool users_idle() const;
    /// Changes whenever a kernel begins, a task of level 0 completes, or an observed task or one on a device ends.
    std::uint64_t activity() const;
    /// Kernels that run on cores, without those around the calling thread.
    int running_elsewhere() const;
    /// "'update' on worker 1": the tasks whose kernels run, for messages.
    std::string running() const;
    /// Wakes threads that wait for everything if nothing is in flight. Called by threads that run out of work.
    void announce_quiescence();

  private:
    const TaskGraph& graph_;
    const Scope& root_;
    ParkingLot& parking_;
    OutsidePlace& outside_;
    struct Workers {
        std::span<const Worker* const> all() const { return {list.data(), count.load(std::memory_order_acquire)}; }
        std::mutex lock;  // of those who add
        std::vector<const Worker*> list;
        std::atomic<std::size_t> count{0};  ///< of the entries that are complete
    };
    Workers workers_;
};

}  // namespace basalt::detail
