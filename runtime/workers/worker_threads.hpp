#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/core_claims.hpp"
#include "runtime/workers/outside_place.hpp"
#include "runtime/workers/progress.hpp"
#include "runtime/workers/work_loop.hpp"

namespace basalt::detail {

/// The threads that work the places: one for each place but place 0, and the stand-in for that.
class WorkerThreads {
  public:
    /// What the threads work with.
    struct Parts {
        TaskGraph& graph;
        const std::vector<std::unique_ptr<Worker>>& workers;
        ParkingLot& parking;
        OutsidePlace& outside;
        Progress& progress;
        WorkLoop& loop;
        const CoreClaims& cores;  ///< of the places
    };
    explicit WorkerThreads(const Parts& parts) : p_(parts) {}

    /// Starts the threads. Throws Error where the system allows no more of them.
    void start();
    /// Ends them. Nothing is in flight.
    void stop();

  private:
    void worker_main(Worker& worker);
    void stand_in_main();
    bool stopping() const { return stop_.load(std::memory_order_acquire); }

    const Parts p_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

}  // namespace basalt::detail
