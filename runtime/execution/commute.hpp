#pragma once

#include <mutex>
#include <vector>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// Keeps commuting tasks apart: of tasks whose commute regions overlap, one at a time is let through.
///
/// A task takes all its regions at once or none, so two tasks can never hold parts of what both need.
/// Tasks that must wait are let through in the order in which they came, as far as their regions are free.
/// One lock for the whole runtime: commuting tasks are rare and the section is short.
class CommuteArbiter {
  public:
    /// True: the task holds its regions (perhaps since an earlier call) and may run. False: it is kept and will come
    /// out of release().
    bool acquire(Task& task);

    /// Frees the task's regions; appends the tasks that may run now to `released`.
    void release(const Task& task, std::vector<Task*>& released);

  private:
    struct Holding {
        const Task* task;
        BoundAccess access;
    };
    bool conflicts(const Task& task) const;
    bool holds(const Task& task) const;
    void take(const Task& task);

    std::mutex lock_;  // guards both lists
    std::vector<Holding> held_;
    std::vector<Task*> waiting_;
};

}  // namespace basalt::detail
