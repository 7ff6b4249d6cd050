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

void Waiting::help_outside(const std::function<bool()>& done, Deadline deadline) {
    if (Driver* driver = Driver::current(p_.graph)) return driver->serve_until(done, deadline);
    const auto late = [&] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
    while (!done() && !late()) {
        if (!p_.outside.try_take()) {
            p_.outside.wait_for_change();  // another outside thread or the stand-in works the place
            continue;
        }
        {
            const ThreadContext context(p_.graph, &p_.outside_worker, nullptr);
            p_.loop.work_until(p_.outside_worker, 0, &p_.graph.root(), done, deadline);
        }
        p_.outside.leave();
    }
}

void Waiting::rethrow(Scope& scope) {
    const bool was_cancelled = scope.cancelled.load(std::memory_order_acquire);
    if (std::exception_ptr error = scope.take_error()) std::rethrow_exception(error);
    if (was_cancelled) throw Cancelled("the task graph was cancelled");
}

bool Waiting::wait_for_children(Scope& children, Deadline deadline) {
    const auto done = [&] { return children.outstanding.load(std::memory_order_acquire) == 1; };
    help(children, done, deadline);
    if (!done()) return false;
    rethrow(children);
    if (children.drained()) throw Cancelled("the task graph was cancelled");
    return true;
}

/// Nothing is in flight: data are no longer looked for where failures left nothing. False where another thread goes on
/// submitting.
bool Waiting::recover() {
    if (p_.coherence == nullptr || !p_.coherence->damaged()) return true;
    const std::lock_guard guard(p_.graph.root().lock);
    if (p_.progress.in_flight() != 0) return false;
    p_.coherence->recover();
    return true;
}

/// False when the deadline came first.
bool Waiting::wait_until(Deadline deadline) {
    if (const Task* task = ThreadContext::task_of(p_.graph)) {
        Scope* children = task->children.load(std::memory_order_acquire);
        return children == nullptr || wait_for_children(*children, deadline);
    }
    p_.before_wait.run_all();
    help_outside([this] { return p_.progress.in_flight() == 0; }, deadline);
    if (p_.progress.in_flight() != 0 || !recover()) return false;
    rethrow(p_.graph.root());
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

bool Waiting::cancelled() const {
    const Task* task = ThreadContext::task_of(p_.graph);
    return task != nullptr ? task->scope->drained() : p_.graph.root().drained();
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
