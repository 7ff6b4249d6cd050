#pragma once

#include <cstdint>
#include <optional>

#include "basalt/task_options.hpp"

namespace basalt {

/// A task as hooks see it. Its place is 0 to Runtime::workers() - 1, for a gang its leader's; threads that stand in for
/// tasks in wait_for() have Runtime::workers(), and there may be several of them.
struct TaskInfo {
    const char* name;           ///< lives until the program ends
    TileIndex tile;             ///< TaskOptions::tile
    std::optional<int> step;    ///< TaskOptions::step
    int priority;               ///< with that of its graph
    std::uint64_t id;           ///< of the task, TraceEvent::id in traces; later tasks may get the same one
    std::optional<int> worker;  ///< the place whose thread runs it, see below; empty on a GPU
    std::optional<int> device;  ///< the GPU it runs on; empty on cores
    bool failed = false;        ///< in task_ended(): its kernel threw, or its work on the GPU failed
};

/// Functions of the user's that are called when a task begins and ends: Config::hooks.
///
/// Both are called once for each task that runs, by the thread that runs its kernel; for a gang by its leader, and for
/// a task on a GPU by the thread that feeds the GPU: when the task is enqueued, and when its end is noticed. Tasks that
/// do not run, because their graph was cancelled or their data have no contents, are not told. A task ends when its
/// kernel has returned or thrown; its children may still run. A task that waits runs others meanwhile, whose calls lie
/// between its own two.
///
/// Several threads call at the same time. A callback should be short, since the task waits for it. It may not use the
/// runtime: submit(), wait() and the like throw UsageError there. A Span and counter() are allowed. An exception that
/// it throws counts as thrown by the task's kernel: the task fails with it, and after task_started() does not run.
class TaskHooks {
  public:
    TaskHooks() = default;
    virtual ~TaskHooks() = default;
    TaskHooks(const TaskHooks&) = delete;
    TaskHooks& operator=(const TaskHooks&) = delete;

    virtual void task_started(const TaskInfo&) {}
    virtual void task_ended(const TaskInfo&) {}
};

}  // namespace basalt
