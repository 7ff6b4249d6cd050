#include "runtime/engine/waiting.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include <spdlog/spdlog.h>

#include "runtime/drivers/driver.hpp"
#include "runtime/engine/stall_watch.hpp"

namespace basalt::detail {

void Waiting::help(const Scope& scope, const std::function<bool()>& done, Deadline deadline) {
    p_.loop.work_until(*ThreadContext::worker_of(p_.graph), scope.level, &scope, done, deadline);
}

void Waiting::help_outside(const Scope& graph, const std::function<bool()>& done) {
    if (Driver* driver = Driver::current(p_.graph)) return driver->serve_until(done, {});
    const std::int64_t patience = stall_seconds_.load(std::memory_order_relaxed);
    StallWatch watch{std::chrono::seconds(patience)};
    const auto done_or_report = [&] {
        if (done()) return true;
        if (watch.due() && watch.stalled(p_.progress.activity(), std::chrono::steady_clock::now())) {
            report_stall(patience);
        }
        return false;
    };
    while (!done_or_report()) {
        if (!p_.outside.try_take()) {
            p_.outside.wait_for_change();  // another outside thread or the stand-in works the place
            continue;
        }
        {
            const ThreadContext context(p_.graph, &p_.outside_worker, nullptr);
            p_.loop.work_until(p_.outside_worker, 0, &graph, done_or_report);
        }
        p_.outside.leave();
    }
}

/// A program whose task blocks on a thread that waits, or on a lock that one holds, would otherwise hang silently. Of
/// several threads that wait, one says so.
void Waiting::report_stall(std::int64_t seconds) {
    std::int64_t expected = seconds;
    if (!stall_seconds_.compare_exchange_strong(expected, 2 * seconds, std::memory_order_relaxed)) return;
    spdlog::warn(
        "basalt: a thread has waited for {} s in which no task began or completed; tasks in flight: {}; kernels that "
        "run on cores: {}. A task must not block on a thread that waits for the runtime.",
        seconds, p_.progress.in_flight(), p_.progress.running());
}

void Waiting::rethrow(Scope& scope) {
    const bool was_cancelled = scope.cancelled.load(std::memory_order_acquire);
    if (std::exception_ptr error = scope.take_error()) std::rethrow_exception(error);
    if (was_cancelled) throw Cancelled("the task graph was cancelled");
}

bool Waiting::wait_for_children(const Task& task, Scope& children, Deadline deadline) {
    const auto done = [&] { return children.outstanding.load(std::memory_order_acquire) == 1; };
    help(children, done, deadline);
    if (!done()) return false;
    // whatever went wrong in its children, the task is told of it and knows the data
    if (p_.graph.unwritten().any() && !task.scope->drained()) p_.graph.unwritten().take_over(task);
    rethrow(children);
    if (children.drained()) throw Cancelled("the task graph was cancelled");
    return true;
}

/// If nothing is in flight, data are no longer looked for where failures left nothing.
void Waiting::recover() {
    if (p_.coherence == nullptr || !p_.coherence->damaged()) return;
    const std::lock_guard guard(p_.graph.root().order.lock);
    // Until other graphs come to an end, what they use that failed is known by other means: see Unwritten.
    if (p_.progress.idle()) p_.coherence->recover();
}

/// Whether nothing of the graph is in flight.
bool Waiting::finished(const Scope& graph) const {
    if (!graph.counts_outstanding) return p_.progress.in_flight() == 0;
    return graph.outstanding.load(std::memory_order_acquire) == 1;
}

/// Where waiting for everything would never end, since the calling thread completes a task only afterwards.
void Waiting::refuse_in_destructor() const {
    const ThreadContext* context = ThreadContext::of(p_.graph);
    const Task* ended = context != nullptr ? context->ended() : nullptr;
    if (ended == nullptr && Driver::current(p_.graph) == nullptr) return;
    throw UsageError("wait() in a destructor of what the kernel of " +
                     (ended != nullptr ? "task '" + task_label(*ended) + "'" : std::string("a task on a GPU")) +
                     " captured: it would wait for that very task");
}

/// False when the deadline came first.
bool Waiting::wait_until(Deadline deadline) {
    if (const ThreadContext* context = ThreadContext::of(p_.graph)) TaskGraph::refuse_in_device_kernel(*context);
    if (const Task* task = ThreadContext::task_of(p_.graph)) {
        Scope* children = task->children.load(std::memory_order_acquire);
        return children == nullptr || wait_for_children(*task, *children, deadline);
    }
    refuse_in_destructor();
    Scope& graph = p_.graph.current_graph();
    p_.before_wait.run_all();
    if (p_.coherence != nullptr) {
        const std::lock_guard guard(graph.order.lock);
        p_.coherence->bring_borrowed_home();
    }
    const auto done = [&] { return finished(graph); };
    if (deadline) {
        // a task that this thread began might last beyond the limit
        p_.outside.leave_to_stand_in(done, *deadline);
    } else {
        help_outside(graph, done);
    }
    if (!done()) return false;
    recover();
    rethrow(graph);
    return true;
}

bool Waiting::wait_for(std::chrono::nanoseconds limit) {
    constexpr auto forever = std::chrono::hours(24 * 365);
    return wait_until(std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(limit, forever));
}

void Waiting::wait() {
    while (!wait_until(std::nullopt)) {
    }
}

void Waiting::cancel(Scope& graph) {
    const std::lock_guard guard(graph.order.lock);  // nothing is submitted between the look and the mark
    if (!finished(graph)) graph.cancel();
}

bool Waiting::cancelled() const {
    const Task* task = ThreadContext::task_of(p_.graph);
    return task != nullptr ? task->scope->drained() : p_.graph.current_graph().drained();
}

void Waiting::drain() noexcept {
    try {
        wait();
    } catch (const std::exception& error) {
        spdlog::error("basalt: a Runtime ended with an error that no wait() saw: {}", error.what());
    } catch (...) {
        spdlog::error("basalt: a Runtime ended with an unknown error that no wait() saw");
    }
}

}  // namespace basalt::detail
