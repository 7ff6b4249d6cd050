#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "basalt/task_options.hpp"

namespace basalt {

namespace detail {

struct Task;
class SchedulerOfProgram;

}  // namespace detail

/// A task that waits for nothing but a worker, as a scheduler sees it: a small value.
struct ReadyTask {
    const char* name = "";  ///< TaskOptions::name, of this and what follows
    int priority = 0;       ///< with that of the task's graph added
    TileIndex tile{};
    std::optional<int> step{};

  private:
    friend class detail::SchedulerOfProgram;
    detail::Task* task_ = nullptr;
};

/// The workers, as a scheduler sees them.
struct SchedulerPlaces {
    /// For each worker the others in groups, the nearest first: those that share its core's smallest cache, then larger
    /// ones, those of the same NUMA node, of the same socket, and of the machine. A worker that releases a task has
    /// written what the task reads last, so what is taken from near is likely in a shared cache, and otherwise in the
    /// memory of the same NUMA node.
    std::vector<std::vector<std::vector<int>>> others;

    /// Numbers of workers are less than this. The last one is shared by threads that stand in for tasks in wait_for().
    int workers() const { return static_cast<int>(others.size()); }
};

/// Decides which ready task a core runs next. See Config::scheduler; for the choice between cores and GPUs, Policy.
///
/// A runtime has an object for each nesting level of tasks, up to 16 (deeper levels share the last). All functions may
/// be called by several threads at the same time, with a different `worker` each, so the object has locks of its own.
/// They must not throw and must not use the runtime, and are called for every task: a microsecond counts.
class Scheduler {
  public:
    virtual ~Scheduler() = default;

    /// Takes in tasks that became ready. `worker`: whose task has released them; empty for those that another thread
    /// submits. Each of them is returned once, by pop() or exchange() for any worker.
    virtual void push(std::optional<int> worker, std::span<const ReadyTask> tasks) = 0;

    /// The task for the worker to run next. Empty only if there is none for any worker: a worker that finds nothing
    /// sleeps until a task is pushed.
    virtual std::optional<ReadyTask> pop(int worker) = 0;

    /// The worker has just completed a task, and `released` became ready by it. Returns the task that the worker runs
    /// next: by default this one. If it is another one, or none, `released` is kept like a pushed task; after none,
    /// pop() is called.
    virtual std::optional<ReadyTask> exchange(int worker, const ReadyTask& released) {
        static_cast<void>(worker);
        return released;
    }
};

using SchedulerFactory = std::function<std::unique_ptr<Scheduler>(const SchedulerPlaces& places)>;

/// Makes a scheduler of the program's own available to Config::scheduler, for the rest of the program. Throws
/// UsageError for an empty name, a name that is taken, and an empty factory. The factory must not use the runtime.
/// Thread-safe.
void register_scheduler(const std::string& name, SchedulerFactory factory);

}  // namespace basalt
