#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/execution/kernel_runs.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/gangs/gang.hpp"

namespace basalt::detail {

/// The sockets that the workers' cores belong to.
class Sockets {
  public:
    explicit Sockets(const std::vector<std::unique_ptr<Worker>>& workers) : workers_(workers) {}

    /// The first of those with the most workers; empty where all workers are of one.
    std::optional<int> with_most_workers() const;
    /// Whether there are several sockets and this one has that many workers.
    bool has(int socket, int workers) const;

  private:
    int workers_of(int socket) const;

    const std::vector<std::unique_ptr<Worker>>& workers_;
};

/// How workers form and run gangs; gang.hpp says why this never deadlocks.
class Gangs {
  public:
    /// `pinned_memory`: the socket near which host memory is that GPUs copy to and from, if it is near one.
    Gangs(const std::vector<std::unique_ptr<Worker>>& workers, std::optional<int> pinned_memory, ParkingLot& parking,
          KernelRuns& kernels)
        : workers_(workers), sockets_(workers), pinned_memory_(pinned_memory), parking_(parking), kernels_(kernels) {}

    /// Leads a gang that runs the task; returns when its kernel has returned on all members.
    void lead(Task& task, Worker& worker);
    /// Joins the gang that assembles, if it has room and this thread may; returns after the gang has run.
    bool join(Worker& worker);
    /// Whether a gang assembles that the worker might join.
    bool any_for(const Worker& worker) const {
        return worker.counts_as_late() ? hall_.lacks_minimum() : hall_.wants_members();
    }
    /// Whether the worker's thread lately had to share its core, as far as it knows. To be called by that thread.
    static bool is_late(Worker& worker);

  private:
    std::optional<int> package_for(const Task& task, const Worker& leader) const;
    int punctual_joiners(const GangPlan& plan, const Worker& leader) const;
    bool some_late() const;
    GangPlan plan(const Task& task, Worker& leader) const;
    int assemble(Gang& gang, Worker& worker);
    void run(Gang& gang, Worker& worker, Gang::Kernel kernel);
    void enter(Gang& gang, int rank, Worker& worker);

    const std::vector<std::unique_ptr<Worker>>& workers_;
    const Sockets sockets_;
    const std::optional<int> pinned_memory_;
    ParkingLot& parking_;
    KernelRuns& kernels_;
    GangHall hall_;
};

}  // namespace basalt::detail
