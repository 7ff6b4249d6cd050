#include "runtime/engine/waiting.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include <spdlog/spdlog.h>

#include "basalt/error.hpp"
#include "base/stack_room.hpp"
#include "runtime/drivers/driver.hpp"
#include "runtime/engine/stall_watch.hpp"
#include "runtime/graph/new_task.hpp"

namespace basalt::detail {

void Waiting::help(const Scope& scope, const std::function<bool()>& done, Deadline deadline, StackEnd stack_end) {
    // a task that this thread began might last beyond the limit
    if (deadline && p_.spares.stand_in(scope, done, *deadline)) return;
    if (stack_ends_soon()) [[unlikely]] {
        // nothing more can be begun on this stack: another thread works, until what is awaited has happened
        if (p_.spares.stand_in(scope, done, std::chrono::steady_clock::time_point::max())) return;
        if (stack_end == StackEnd::refuse) refuse_to_nest(scope);
    }
    p_.loop.work_until(*ThreadContext::worker_of(p_.graph), scope.level, &scope, done, deadline);
}

void Waiting::refuse_to_nest(const Scope& scope) {
    throw UsageError("waiting inside a task at nesting level " + std::to_string(scope.level) +
                     ": the stacks of this thread and of those that could take over are used up by tasks that wait for "
                     "their children; allowed are fewer levels, larger stacks (ulimit -s), or tasks that submit "
                     "children without waiting");
}

void Waiting::help_outside(const Scope& graph, const std::function<bool()>& done, Deadline deadline) {
    if (deadline) return p_.outside.leave_to_stand_in(done, *deadline);
    if (Driver* driver = Driver::current(p_.graph)) return driver->serve_until(done);
    const std::int64_t patience = stall_seconds_.load(std::memory_order_relaxed);
    StallWatch watch{std::chrono::seconds(patience)};
    const auto done_or_report = [&] {
        if (done()) return true;
        if (!p_.waiters.on() && watch.due() &&
            watch.stalled(p_.progress.activity(), std::chrono::steady_clock::now())) {
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
            p_.cores.leave_other_cores();
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
        "basalt: a thread has waited for {} s in which no task began or completed; tasks in flight: {}, and in {} "
        "further graphs; kernels that run on cores: {}. A task must not block on a thread that waits for the runtime.",
        seconds, p_.progress.in_flight(), p_.graph.busy_graphs(), p_.progress.running());
}

void Waiting::rethrow(const Scope::Outcome& outcome) {
    if (outcome.error) std::rethrow_exception(outcome.error);
    if (outcome.cancelled) throw Cancelled("the task graph was cancelled");
}

bool Waiting::wait_for_children(const Task& task, Scope& children, Deadline deadline) {
    const auto done = [&] { return children.outstanding.load(std::memory_order_acquire) == 1; };
    finish_reductions(children);
    const Waiters::Note note(p_.waiters, &task, [] { return std::string("for the tasks inside it"); });
    help(children, done, deadline);
    Scope::Outcome outcome;
    {
        const std::lock_guard guard(children.order.lock);  // another member of a gang may submit
        if (!done()) return false;
        // whatever went wrong in its children, the task is told of it and knows the data
        if (p_.graph.unwritten().any() && !task.scope->drained()) p_.graph.unwritten().take_over(task);
        outcome = children.take_outcome();
    }
    rethrow(outcome);
    if (children.drained()) throw Cancelled("the task graph was cancelled");
    return true;
}

/// If nothing is in flight, data are no longer looked for where failures left nothing. Under the order's lock.
void Waiting::recover() {
    if (p_.coherence == nullptr || !p_.coherence->damaged()) return;
    // Until other graphs come to an end, what they use that failed is known by other means: see Unwritten.
    if (p_.progress.idle()) p_.coherence->recover();
}

/// Has the copies combined of the reductions in which the scope's tasks take part. The scope waits for that.
void Waiting::finish_reductions(Scope& scope) {
    const std::lock_guard guard(scope.order.lock);
    if (scope.order.open_reductions.empty() && scope.order.closing_reductions.empty()) return;
    NewTask::finish_reductions(p_.graph, scope, p_.graph.slot_cache(scope));
}

/// Whether nothing of the graph is in flight.
bool Waiting::finished(const Scope& graph) const {
    if (!graph.counts_outstanding) return p_.progress.in_flight() == 0;
    return graph.outstanding.load(std::memory_order_acquire) == 1;
}

void Waiting::refuse_to_block(const char* what) const {
    const ThreadContext* context = ThreadContext::of(p_.graph);
    if (context != nullptr && context->inside_coroutine()) {
        throw UsageError(std::string(what) + " in the coroutine of task '" + task_label(*context->task()) +
                         "' would block its thread; allowed is co_await of handles and futures");
    }
    const Task* ended = context != nullptr ? context->ended() : nullptr;
    if (ended == nullptr && !on_driver_thread()) return;
    throw UsageError(std::string(what) + " in a destructor of what the kernel of " +
                     (ended != nullptr ? "task '" + task_label(*ended) + "'" : std::string("a task on a GPU")) +
                     " captured: it would wait for that very task");
}

/// False when the deadline came first.
bool Waiting::wait_until(Deadline deadline) {
    if (const ThreadContext* context = ThreadContext::of(p_.graph)) TaskGraph::refuse_where_closed(*context);
    refuse_to_block("wait()");
    if (const Task* task = ThreadContext::task_of(p_.graph)) {
        Scope* children = task->children.load(std::memory_order_acquire);
        return children == nullptr || wait_for_children(*task, *children, deadline);
    }
    p_.graph.refuse_while_recording("wait()");
    Scope& graph = p_.graph.current_graph();
    waits_.fetch_add(1, std::memory_order_relaxed);
    p_.before_wait.run_all();
    finish_reductions(graph);
    if (p_.coherence != nullptr) {
        const std::lock_guard guard(graph.order.lock);
        p_.coherence->bring_borrowed_home();
    }
    // where recover() has something to do, only other graphs keep it from that
    const auto only_housekeeping = [this] {
        return p_.coherence != nullptr && p_.coherence->damaged() && p_.graph.busy_graphs() == 1 &&
               !finished(p_.graph.housekeeping());
    };
    const auto done = [&] { return finished(graph) && !only_housekeeping(); };
    const Waiters::Note note(p_.waiters, nullptr, [&] {
        return std::string(&graph == &p_.graph.root() ? "for the runtime's own graph" : "for a Graph");
    });
    help_outside(graph, done, deadline);
    Scope::Outcome outcome;
    {
        const std::lock_guard guard(graph.order.lock);  // another thread may submit
        if (!done()) return false;
        if (p_.coherence != nullptr) p_.coherence->note_failed_homecomings();
        recover();
        outcome = graph.take_outcome();
    }
    rethrow(outcome);
    throw_loss(graph);
    return true;
}

/// Each graph is told of what did not come home to the user's own arrays.
void Waiting::throw_loss(Scope& graph) {
    if (p_.coherence == nullptr) return;
    std::optional<std::string> loss;
    {
        const std::lock_guard guard(graph.order.lock);
        loss = p_.coherence->next_loss(graph.losses_seen);
    }
    if (loss) throw DataError(*loss);
}

std::size_t Waiting::losses() const { return p_.coherence != nullptr ? p_.coherence->losses() : 0; }

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
    if (finished(graph) && graph.calls == 0) return;
    graph.cancel();
    for (Scope* part : graph.parts) part->cancel();
}

bool Waiting::cancelled() const {
    const Task* task = ThreadContext::task_of(p_.graph);
    return task != nullptr ? task->scope->drained() : p_.graph.current_graph().drained();
}

std::exception_ptr Waiting::error() const { return p_.graph.current_graph().error(); }

bool Waiting::on_driver_thread() const { return Driver::current(p_.graph) != nullptr; }

void Waiting::drain(const char* what) noexcept {
    try {
        wait();
    } catch (const Cancelled&) {  // the program asked for it
    } catch (const std::exception& error) {
        spdlog::error("basalt: {} ended with an error that no wait() saw: {}", what, error.what());
    } catch (...) {
        spdlog::error("basalt: {} ended with an unknown error that no wait() saw", what);
    }
}

}  // namespace basalt::detail
