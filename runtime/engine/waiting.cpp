#include "runtime/engine/waiting.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>

#include <spdlog/spdlog.h>

#include "runtime/drivers/driver.hpp"

namespace basalt::detail {

void Waiting::help(const Scope& scope, const std::function<bool()>& done, Deadline deadline) {
    p_.loop.work_until(*ThreadContext::worker_of(p_.graph), scope.level, &scope, done, deadline);
}

void Waiting::help_outside(const Scope& graph, const std::function<bool()>& done) {
    if (Driver* driver = Driver::current(p_.graph)) return driver->serve_until(done, {});
    while (!done()) {
        if (!p_.outside.try_take()) {
            p_.outside.wait_for_change();  // another outside thread or the stand-in works the place
            continue;
        }
        {
            const ThreadContext context(p_.graph, &p_.outside_worker, nullptr);
            p_.loop.work_until(p_.outside_worker, 0, &graph, done);
        }
        p_.outside.leave();
    }
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

/// False when the deadline came first.
bool Waiting::wait_until(Deadline deadline) {
    if (const Task* task = ThreadContext::task_of(p_.graph)) {
        Scope* children = task->children.load(std::memory_order_acquire);
        return children == nullptr || wait_for_children(*task, *children, deadline);
    }
    Scope& graph = p_.graph.current_graph();
    p_.before_wait.run_all();
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
