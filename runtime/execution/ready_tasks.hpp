#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/execution/commute.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/execution/scheduler.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/worker.hpp"

namespace basalt::detail {

/// Tasks that workers may run: a scheduler for each nesting level, and commuting tasks that wait for their regions.
/// Pushing wakes sleepers. Thread-safe; a worker is passed by the thread that works it.
class ReadyTasks {
  public:
    /// Throws UsageError for an unknown policy.
    ReadyTasks(std::string policy, Neighbours places, ParkingLot& parking);

    /// Hands tasks to the scheduler and wakes sleepers for them. Commuting tasks first take their regions. `worker`:
    /// where the calling thread works, or nullptr.
    void push(Task* const* tasks, std::size_t count, const Worker* worker);
    /// A task of min_level or deeper, deepest first: what is begun is finished first. nullptr where there is none.
    Task* pop(Worker& worker, int min_level) {
        if (worker.post != Worker::Post::spare) return pop_at_place(worker, min_level);
        const std::lock_guard guard(spare_lock_);
        return pop_at_place(worker, min_level);
    }
    /// Of the tasks in worker.released, the one that the worker runs next, if any; the others go to the scheduler.
    Task* choose_next(Worker& worker, int min_level) {
        return worker.released.empty() ? nullptr : choose_released(worker, min_level);
    }
    /// Frees the regions of a commuting task; adds the tasks that may run now to `released`.
    void release_regions(const Task& task, std::vector<Task*>& released) { commute_.release(task, released); }

    /// Tasks of level 0 in the worker's queue, see Scheduler::queued().
    const std::atomic<std::size_t>* queued(const Worker& worker) { return scheduler(0).queued(worker.place); }
    /// Whether there are tasks of min_level or deeper.
    bool any(int min_level) const;
    /// A wake-up meant for some task may have ended at the caller, who runs none: passes it on.
    void pass_on_wake_up() {
        if (parking_.anyone_parked() && any(0)) parking_.wake(levels, 1);
    }

  private:
    static constexpr int levels = 16;  ///< nesting levels with queues of their own; deeper ones share the last

    Scheduler& scheduler(int level) {
        const int index = std::min(level, levels - 1);
        Scheduler* existing = schedulers_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
        return existing != nullptr ? *existing : make_level(index);
    }
    Scheduler& make_level(int index);
    Task* pop_at_place(Worker& worker, int min_level);
    Task* choose_released(Worker& worker, int min_level);
    Task* choose_among_released(Worker& worker, int min_level);
    Task* pop_level(Scheduler& queue, int level, Worker& worker);
    void push_set_aside(Worker& worker);

    const std::string policy_;
    const Neighbours places_;
    ParkingLot& parking_;
    CommuteArbiter commute_;
    std::mutex spare_lock_;  // of the spare threads, which share the last place
    std::mutex lock_;        // of those who make a level
    std::array<std::atomic<Scheduler*>, levels> schedulers_{};
    std::vector<std::unique_ptr<Scheduler>> owned_schedulers_;
    std::atomic<int> deepest_level_{0};
};

}  // namespace basalt::detail
