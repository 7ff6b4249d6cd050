#pragma once

#include <cstdint>
#include <span>

#include "basalt/task_handle.hpp"
#include "runtime/engine/waiting.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// What handles ask for: waiting for one task, and following it. Thread-safe.
class TaskWaits {
  public:
    TaskWaits(TaskGraph& graph, Waiting& waiting) : graph_(graph), waiting_(waiting) {}

    bool done(const TaskHandle& handle) const { return graph_.completed(HandleAccess::task(handle)); }
    /// Runs tasks until the task has completed, or the deadline (then false). Throws UsageError where waiting might
    /// never end; see TaskHandle::wait().
    bool wait(const TaskHandle& handle, Deadline deadline) const;
    /// The error of a task that is done; nullptr where it succeeded.
    std::exception_ptr error_of(const TaskHandle& handle) const {
        return graph_.outcomes().of(HandleAccess::task(handle));
    }
    /// Throws UsageError where a task that enters the scope of the graph may not follow one of them. `name` is the
    /// task's.
    static void check_may_follow(const TaskGraph& graph, const char* name, const Scope& scope,
                                 std::span<const TaskHandle> handles);

  private:
    Scope& check_may_wait(const ThreadContext& context, const TaskHandle& handle) const;

    TaskGraph& graph_;
    Waiting& waiting_;
};

}  // namespace basalt::detail
