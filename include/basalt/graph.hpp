#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "basalt/runtime.hpp"

namespace basalt {

namespace detail {

class Recorder;
class Scope;
class TaskGraph;
struct GraphState;

/// Where the calling thread's submissions to one runtime go instead of the runtime's own graph. A stack on the thread's
/// own stack, since a thread may use several runtimes.
class SubmissionTarget {
  public:
    /// With a recorder, tasks go there; everything else concerns the scope.
    SubmissionTarget(const TaskGraph& runtime, Scope& scope, Recorder* recorder = nullptr)
        : runtime_(&runtime), scope_(&scope), recorder_(recorder), outer_(innermost_) {
        innermost_ = this;
    }
    /// Not inline: with hidden visibility a program's code would have an innermost_ of its own.
    ~SubmissionTarget();
    SubmissionTarget(const SubmissionTarget&) = delete;
    SubmissionTarget& operator=(const SubmissionTarget&) = delete;

    /// The calling thread's innermost one for the runtime; nullptr: the runtime's own graph.
    static Scope* of(const TaskGraph& runtime) {
        const SubmissionTarget* target = innermost_for(runtime);
        return target != nullptr ? target->scope_ : nullptr;
    }
    /// What records the calling thread's submissions to the runtime; nullptr: they are not recorded.
    static Recorder* recorder_of(const TaskGraph& runtime) {
        const SubmissionTarget* target = innermost_for(runtime);
        return target != nullptr ? target->recorder_ : nullptr;
    }

  private:
    static const SubmissionTarget* innermost_for(const TaskGraph& runtime) {
        const SubmissionTarget* target = innermost_;
        while (target != nullptr && target->runtime_ != &runtime) target = target->outer_;
        return target;
    }

    const TaskGraph* const runtime_;
    Scope* const scope_;
    Recorder* const recorder_;
    const SubmissionTarget* const outer_;

    static inline constinit thread_local const SubmissionTarget* innermost_ = nullptr;
};

}  // namespace detail

/// Tasks that are waited for, cancelled and fail together.
///
/// What a program submits to a Runtime directly belongs to the runtime's own graph, which all threads share. A Graph of
/// its own keeps the errors of one part of a program apart: an exception in one of its tasks cancels what has not
/// started of this graph, and this graph's wait() rethrows it. Dependencies hold across graphs: they follow the order
/// in which tasks are submitted to the runtime, to whatever graph.
///
/// A task of another graph that reads what a failed or cancelled task should have written does not run either, and its
/// graph's wait() throws a DataError; tasks that do not depend on it run. Data become valid again when a task
/// overwrites them.
///
/// Each graph has a window of its own (Config::window). A thread in wait() runs tasks of any graph. Tasks on GPUs that
/// write arrays wrapped around the user's memory are waited for by every graph's wait(), which throws DataError if the
/// memory does not get its contents.
///
/// Thread-safe like Runtime. Tasks submitted inside a task are that task's children, whatever graph it belongs to: a
/// Graph is used outside tasks only, UsageError otherwise.
class Graph {
  public:
    /// `priority` is added to that of every task in the graph. Throws UsageError inside a task.
    explicit Graph(Runtime& runtime, int priority = 0);
    /// Waits for the graph's tasks. An error that no wait() has seen is logged, not thrown. Inside a task, and in a
    /// destructor of what a kernel captured, it does not wait: the tasks run all the same. Does nothing where the
    /// runtime has ended, which waits for all graphs.
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    /// Runtime::submit() for a task of this graph.
    template <class... Args>
    auto submit(const TaskOptions& options, Args&&... args);
    /// Runtime::submit_for() for a loop of this graph.
    template <class F, class... Accesses>
    TaskHandle submit_for(const TaskOptions& options, IndexRange range, Index grain, F&& f, Accesses&&... accesses);
    /// Runtime::submit_chunks() for tasks of this graph.
    template <class AccessesOf, class... Kernels>
    std::vector<TaskHandle> submit_chunks(const TaskOptions& options, IndexRange range, Index grain,
                                          const AccessesOf& accesses_of, const Kernels&... kernels);

    /// Waits until none of the graph's tasks is in flight, running tasks meanwhile. Rethrows the graph's first error,
    /// or throws Cancelled after cancel(); the graph is usable afterwards.
    void wait();
    /// wait() with a limit, kept as that of Runtime::wait_for(). False when the time ran out first; tasks go on.
    bool wait_for(std::chrono::nanoseconds limit);
    /// Drops every task of the graph that has not started, and those submitted before its next wait(), which throws
    /// Cancelled. Running tasks finish. Does nothing while nothing of the graph is in flight.
    void cancel();
    /// Whether the graph was cancelled or has failed since its last wait().
    bool cancelled() const;
    /// The first error since the last wait(), if any. Not set by cancel().
    std::exception_ptr error() const;

    /// The runtime that was given. Throws UsageError where it has ended.
    Runtime& runtime() const;

  private:
    friend class SubmitTo;
    std::shared_ptr<detail::GraphState> state_;
};

/// Has what the calling thread submits outside tasks go to a graph, for as long as it lives: what is called meanwhile,
/// such as lu_factor(), submits there. Runtime::wait(), wait_for(), cancel(), cancelled() and error() mean this graph
/// then. The graph outlives it; the same thread destroys it, in reverse order of construction. Throws UsageError inside
/// a task.
class SubmitTo {
  public:
    explicit SubmitTo(const Graph& graph) : SubmitTo(*graph.state_) {}
    SubmitTo(const SubmitTo&) = delete;
    SubmitTo& operator=(const SubmitTo&) = delete;

    Runtime& runtime() const { return runtime_; }

  private:
    friend class Graph;
    explicit SubmitTo(detail::GraphState& state);

    Runtime& runtime_;
    const detail::SubmissionTarget target_;
};

template <class... Args>
auto Graph::submit(const TaskOptions& options, Args&&... args) {
    const SubmitTo here(*this);
    return here.runtime().submit(options, std::forward<Args>(args)...);
}

template <class F, class... Accesses>
TaskHandle Graph::submit_for(const TaskOptions& options, IndexRange range, Index grain, F&& f, Accesses&&... accesses) {
    const SubmitTo here(*this);
    return here.runtime().submit_for(options, range, grain, std::forward<F>(f), std::forward<Accesses>(accesses)...);
}

template <class AccessesOf, class... Kernels>
std::vector<TaskHandle> Graph::submit_chunks(const TaskOptions& options, IndexRange range, Index grain,
                                             const AccessesOf& accesses_of, const Kernels&... kernels) {
    const SubmitTo here(*this);
    return here.runtime().submit_chunks(options, range, grain, accesses_of, kernels...);
}

}  // namespace basalt
