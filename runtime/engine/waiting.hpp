#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/core_claims.hpp"
#include "runtime/engine/before_wait.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/observe/waiters.hpp"
#include "runtime/workers/outside_place.hpp"
#include "runtime/workers/progress.hpp"
#include "runtime/workers/spare_threads.hpp"
#include "runtime/workers/work_loop.hpp"

namespace basalt::detail {

/// Waiting for tasks, from outside and from inside tasks, and cancelling them. A thread that waits runs tasks
/// meanwhile. Thread-safe.
class Waiting {
  public:
    /// What waiting works with.
    struct Parts {
        TaskGraph& graph;
        Worker& outside_worker;  ///< place 0
        WorkLoop& loop;
        Progress& progress;
        OutsidePlace& outside;
        const CoreClaims& cores;
        Coherence* coherence;  ///< nullptr where there are no GPUs
        BeforeWait& before_wait;
        SpareThreads& spares;
        Waiters& waiters;
    };
    explicit Waiting(const Parts& parts) : p_(parts) {}

    /// Runtime::wait() and wait_for().
    void wait();
    bool wait_for(std::chrono::nanoseconds limit);
    /// wait(), but logs the error that no wait() has seen. `what` ended: "a Runtime".
    void drain(const char* what) noexcept;
    /// Whether the calling thread may wait for a graph: it is neither inside a task nor in what the runtime calls.
    bool is_outside() const { return ThreadContext::of(p_.graph) == nullptr && !on_driver_thread(); }
    /// How often threads outside tasks have begun to wait.
    const std::atomic<std::uint64_t>& waits() const { return waits_; }
    /// Whether the calling thread works a place.
    bool works() const { return ThreadContext::worker_of(p_.graph) != nullptr; }
    /// Who waits, for the watchdog.
    Waiters& waiters() { return p_.waiters; }
    /// Cancels the graph that the calling thread works for, if anything of it is in flight.
    void cancel() { cancel(p_.graph.current_graph()); }
    void cancel(Scope& graph);
    /// The graph that the calling thread works for.
    Scope& current_graph() { return p_.graph.current_graph(); }
    /// Losses of contents of the user's own arrays so far, of which a new graph is not told.
    std::size_t losses() const;
    /// Whether the graph that the calling thread submits to was cancelled.
    bool cancelled() const;
    /// Its first error since its last wait().
    std::exception_ptr error() const;

    /// Runs tasks of the scope and deeper ones, on the calling thread's place, until done() holds. The thread is inside
    /// a task, or between two of them. Where little of its stack is left, another thread runs the tasks; if no other
    /// thread can, this one does (`run_on`), or UsageError is thrown.
    enum class StackEnd { refuse, run_on };
    void help(const Scope& scope, const std::function<bool()>& done, Deadline deadline = {},
              StackEnd stack_end = StackEnd::refuse);
    /// The same on place 0, as soon as that is to be had, for a thread outside that waits for tasks of the graph. With
    /// a deadline the stand-in does so in its place: a task that this thread began might last beyond it.
    void help_outside(const Scope& graph, const std::function<bool()>& done, Deadline deadline = {});

    /// Throws UsageError where `what` might never end, or must not hold up the calling thread: in a destructor of what
    /// a kernel captured, which runs before its task counts as complete, and in a coroutine.
    void refuse_to_block(const char* what) const;

  private:
    bool wait_until(Deadline deadline);
    bool wait_for_children(const Task& task, Scope& children, Deadline deadline);
    void report_stall(std::int64_t seconds);
    void finish_reductions(Scope& scope);
    void recover();
    void throw_loss(Scope& graph);
    bool finished(const Scope& graph) const;
    bool on_driver_thread() const;
    [[noreturn]] static void refuse_to_nest(const Scope& scope);
    static void rethrow(const Scope::Outcome& outcome);

    const Parts p_;
    /// How long nothing happens before a thread that waits says so: doubled each time, since long kernels are no error.
    /// Relaxed: nothing depends on it.
    std::atomic<std::int64_t> stall_seconds_{5};
    std::atomic<std::uint64_t> waits_{0};  ///< relaxed: as above
};

}  // namespace basalt::detail
