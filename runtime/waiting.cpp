// Waiting for tasks, from outside and from inside tasks, and cancelling them.
#include <algorithm>
#include <mutex>

#include <spdlog/spdlog.h>

#include "runtime/engine.hpp"

namespace basalt::detail {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

std::uint64_t Engine::completed() const {
    std::uint64_t sum = 0;
    // acquire: pairs with settle(): what a counted task wrote is visible
    for (const auto& worker : workers_) sum += worker->completed.load(std::memory_order_acquire);
    for (const auto& driver : drivers_) sum += driver->worker().completed.load(std::memory_order_acquire);
    return sum;
}

std::uint64_t Engine::in_flight() const {
    // Completed first: a task is counted as submitted before it can complete, so the difference never is
    // negative, and zero means that nothing was in flight at some moment in between.
    const std::uint64_t done = completed();
    return root_.submitted.load(std::memory_order_acquire) - done;
}

/// Tells outside threads that wait that nothing is in flight, if so. Called by workers that run out of work.
void Engine::announce_quiescence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // own counter first, then the others'
    if (in_flight() != 0) return;
    if (parking_.anyone_parked()) parking_.wake_scope(&root_);
    if (outside_waiters_.load(std::memory_order_seq_cst) > 0) {
        const std::lock_guard guard(outside_lock_);
        outside_changed_.notify_all();
    }
}

bool Engine::take_outside_place() { return !outside_place_taken_.exchange(true, std::memory_order_acquire); }

void Engine::leave_outside_place() {
    outside_place_taken_.store(false, std::memory_order_release);
    if (outside_waiters_.load(std::memory_order_seq_cst) > 0) {
        const std::lock_guard guard(outside_lock_);
        outside_changed_.notify_all();
    }
}

void Engine::work_outside(const std::function<bool()>& done, Deadline deadline) {
    if (Driver* driver = Driver::current(*this)) return driver->serve_until(done, deadline);
    const auto late = [&] { return deadline && std::chrono::steady_clock::now() >= *deadline; };
    while (!done() && !late()) {
        if (take_outside_place()) {
            ThreadContext context{this, workers_[0].get(), nullptr, context_};
            context_ = &context;
            work_until(*workers_[0], 0, &root_, done, deadline);
            context_ = context.outer;
            leave_outside_place();
            continue;
        }
        // Another outside thread or the stand-in works the place. The stand-in notices the request when it next
        // looks; the time limit covers the moment between looking and waiting.
        outside_waiters_.fetch_add(1, std::memory_order_seq_cst);
        if (stand_in_works_.load(std::memory_order_relaxed)) parking_.wake_scope(&root_);
        {
            std::unique_lock guard(outside_lock_);
            outside_changed_.wait_for(guard, std::chrono::milliseconds(1));
        }
        outside_waiters_.fetch_sub(1, std::memory_order_seq_cst);
    }
}

void Engine::throttle(Scope& scope) {
    const auto window = static_cast<std::int64_t>(config_.window);
    if (scope.owner != nullptr) {
        auto room = [&] { return scope.outstanding.load(std::memory_order_acquire) - 1 < window; };
        ThreadContext* context = context_of(this);
        if (!room()) work_until(*context->worker, scope.level, &scope, room);
        return;
    }
    auto in_window = [&](std::uint64_t done, std::int64_t limit) {
        return static_cast<std::int64_t>(scope.submitted.load(std::memory_order_relaxed) - done) < limit;
    };
    if (in_window(known_completed_.load(std::memory_order_relaxed), window)) return;
    known_completed_.store(completed(), std::memory_order_relaxed);
    if (in_window(known_completed_.load(std::memory_order_relaxed), window)) return;
    // go on submitting only when a quarter of the window is free, so that helping comes in long stretches
    work_outside([&] { return static_cast<std::int64_t>(in_flight()) <= window - (window + 3) / 4; });
    known_completed_.store(completed(), std::memory_order_relaxed);
}

void Engine::rethrow(Scope& scope) {
    const bool was_cancelled = scope.cancelled.load(std::memory_order_acquire);
    if (std::exception_ptr error = scope.take_error()) std::rethrow_exception(error);
    if (was_cancelled) throw Cancelled("the task graph was cancelled");
}

void Engine::wait_root(Deadline deadline) {
    run_all_before_wait();
    work_outside([this] { return in_flight() == 0; }, deadline);
}

/// One at a time and not under the lock, since an action submits tasks. An entry whose owner is just being destroyed is
/// left to the owner.
void Engine::run_all_before_wait() {
    while (true) {
        std::shared_ptr<const void> owner;
        std::function<void()> action;
        {
            const std::lock_guard guard(before_wait_lock_);
            const auto entry = std::find_if(before_wait_.begin(), before_wait_.end(),
                                            [&](const BeforeWait& e) { return (owner = e.owner.lock()) != nullptr; });
            if (entry == before_wait_.end()) return;
            action = std::move(entry->action);
            before_wait_.erase(entry);
        }
        action();
    }
}

void Engine::wait_children(Scope& scope, Deadline deadline) {
    ThreadContext* context = context_of(this);
    work_until(
        *context->worker, scope.level, &scope, [&] { return scope.outstanding.load(std::memory_order_acquire) == 1; },
        deadline);
}

bool Engine::wait_until(Deadline deadline) {
    ThreadContext* context = context_of(this);
    if (context != nullptr && context->task != nullptr) {
        Scope* children = context->task->children.load(std::memory_order_acquire);
        if (children == nullptr) return true;
        wait_children(*children, deadline);
        if (children->outstanding.load(std::memory_order_acquire) != 1) return false;
        rethrow(*children);
        if (children->drained()) throw Cancelled("the task graph was cancelled");
        return true;
    }
    wait_root(deadline);
    if (in_flight() != 0) return false;
    if (coherence_ != nullptr && coherence_->damaged()) {
        const std::lock_guard guard(root_.lock);
        if (in_flight() != 0) return false;  // another thread goes on submitting
        coherence_->recover();
    }
    rethrow(root_);
    return true;
}

bool Engine::wait_for(std::chrono::nanoseconds limit) {
    constexpr auto forever = std::chrono::hours(24 * 365);
    return wait_until(std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(limit, forever));
}

void Engine::wait() {
    while (!wait_until(std::nullopt)) {
    }
}

void Engine::wait_datum(Datum& datum) {
    Scope& home = home_of(datum);
    if (&home != &current_scope()) {
        throw UsageError(std::string("waiting for ") + datum.name +
                         " inside a task that did not create it: its users may be waiting for this very task");
    }
    wait_datum(datum, home, true);
    const std::lock_guard guard(home.lock);
    if (datum.current->residency) coherence_->check_home(*datum.current->residency);
}

/// Waits behind every task that uses the datum: a task of our own that uses all of it. The thread helps with
/// whatever may be in the way, at any level from the datum's on.
void Engine::wait_datum(Datum& datum, Scope& home, bool at_home) {
    std::atomic<bool> done{false};
    {
        const std::lock_guard guard(home.lock);
        if (datum.home_scope != home.id) datum.home_scope = home.id;  // child tasks may be reading it
        if (!at_home) abandon(*datum.current);
        submit_internal(home, *datum.current, at_home, [&done] { done.store(true, std::memory_order_release); });
    }
    auto is_done = [&] {
        if (!done.load(std::memory_order_acquire)) return false;
        const std::lock_guard guard(datum.retired_lock);
        return datum.retired_versions == 0;
    };
    ThreadContext* context = context_of(this);
    if (context != nullptr) {
        work_until(*context->worker, home.level, &home, is_done, std::nullopt);
    } else {
        work_outside(is_done);
    }
}

void Engine::cancel() { root_.cancelled.store(true, std::memory_order_release); }

bool Engine::cancelled() const {
    ThreadContext* context = context_of(this);
    return context != nullptr && context->task != nullptr ? context->task->scope->drained() : root_.drained();
}

void Engine::before_next_wait(std::weak_ptr<const void> owner, const void* key, std::function<void()> action) {
    const std::lock_guard guard(before_wait_lock_);
    before_wait_.push_back({std::move(owner), key, std::move(action)});
}

void Engine::run_before_wait(const void* key) {
    std::function<void()> action;
    {
        const std::lock_guard guard(before_wait_lock_);
        const auto entry =
            std::find_if(before_wait_.begin(), before_wait_.end(), [&](const BeforeWait& e) { return e.key == key; });
        if (entry == before_wait_.end()) return;
        action = std::move(entry->action);
        before_wait_.erase(entry);
    }
    action();
}

void Engine::drain() noexcept {
    try {
        wait();
    } catch (const std::exception& error) {
        spdlog::error("basalt: a Runtime ended with an error that no wait() saw: {}", error.what());
    } catch (...) {
        spdlog::error("basalt: a Runtime ended with an unknown error that no wait() saw");
    }
}

}  // namespace basalt::detail
