#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/execution/neighbours.hpp"

namespace basalt::detail {

struct Task;

/// A policy: which ready task runs where. Policies live in schedulers/, one a file; the library's look at a task's
/// priority and at nothing else. One stands for those of programs (basalt::Scheduler).
///
/// The engine keeps one object for each nesting level in use. Each worker is one of several places; at
/// most one thread works a place at a time, and `place` is the caller's own. A thread that has none only pushes. All
/// members may be called concurrently from different places.
class Scheduler {
  public:
    virtual ~Scheduler() = default;

    /// Takes in tasks that became ready. A later pop() anywhere returns each of them exactly once. Returns whether
    /// the queue they went to was empty: otherwise someone has been woken for it already.
    virtual bool push(std::optional<int> place, Task* const* tasks, std::size_t count) = 0;

    /// What pop() finds.
    struct Found {
        Task* task = nullptr;    ///< what `place` should run next; nullptr when there is none
        bool kept_more = false;  ///< tasks of other places now lie in this place's queue
    };
    /// Looks for a task. A thread that looked while tasks were on their way from one queue to another saw none of
    /// them: where more than one was moved, the caller wakes somebody for the others.
    virtual Found pop(int place) = 0;

    /// Offered a task that just became ready on `place`: returns what to run next, keeping `candidate` if that is
    /// another one; nullptr: pop() is to be asked.
    virtual Task* exchange(int place, Task* candidate) = 0;

    /// The number of tasks in the place's queue, which may be out of date; nullptr where places have no queues.
    virtual const std::atomic<std::size_t>* queued([[maybe_unused]] int place) const { return nullptr; }

    /// Whether pop() would find nothing. Exact while no thread pushes.
    virtual bool empty() const = 0;
};

/// Defined in schedulers/. Throws UsageError for a name that is not in scheduler_names().
std::unique_ptr<Scheduler> make_scheduler(std::string_view name, const Neighbours& places);

}  // namespace basalt::detail
