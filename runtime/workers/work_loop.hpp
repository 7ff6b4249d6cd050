#pragma once

#include <functional>

#include "runtime/execution/completion.hpp"
#include "runtime/execution/kernel_runs.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/execution/ready_tasks.hpp"
#include "runtime/gangs/gangs.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

/// How a thread works a place: finds tasks and runs them, polls while there are none, and then sleeps.
class WorkLoop {
  public:
    /// What the loop works with.
    struct Parts {
        const Scope& root;
        ReadyTasks& ready;
        Gangs& gangs;
        KernelRuns& kernels;
        Completion& completion;
        ParkingLot& parking;
        Progress& progress;
        const OutsidePlace& outside;
        int workers;     ///< of the runtime
        bool real_gpus;  ///< threads that wait for everything wait for GPUs
    };
    explicit WorkLoop(const Parts& parts) : p_(parts) {}

    /// Runs tasks of min_level and deeper until done() holds (looked at when out of work and now and then),
    /// or the deadline. `awaited`: the scope whose end the caller waits for; nullptr for none.
    void work_until(Worker& worker, int min_level, const void* awaited, const std::function<bool()>& done,
                    Deadline deadline = {});

  private:
    struct PollingPace;
    struct Idleness;

    Task* find_work(Worker& worker, int min_level);
    Task* run_one(Task& task, Worker& worker, int min_level);
    void sleep(Worker& worker, Idleness& idle, const std::function<bool()>& done, Deadline deadline);

    const Parts p_;
};

}  // namespace basalt::detail
