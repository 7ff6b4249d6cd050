#pragma once

#include <cstdint>
#include <vector>

#include "runtime/execution/parking.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/worker.hpp"
#include "runtime/workers/outside_place.hpp"

namespace basalt::detail {

/// How many tasks of level 0 are in flight. There is no shared counter: each place and driver counts what it finished,
/// and the difference to what was submitted is taken when somebody asks.
class Progress {
  public:
    Progress(const Scope& root, ParkingLot& parking, OutsidePlace& outside)
        : root_(root), parking_(parking), outside_(outside) {}

    /// Tasks finish there too. Before the first task is submitted.
    void count(const Worker& worker) { workers_.push_back(&worker); }

    std::uint64_t completed() const;
    std::uint64_t in_flight() const;
    /// Wakes threads that wait for everything if nothing is in flight. Called by threads that run out of work.
    void announce_quiescence();

  private:
    const Scope& root_;
    ParkingLot& parking_;
    OutsidePlace& outside_;
    std::vector<const Worker*> workers_;
};

}  // namespace basalt::detail
