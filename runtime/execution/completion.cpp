#include "runtime/execution/completion.hpp"

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/execution/task_errors.hpp"
#include "runtime/graph/new_task.hpp"
#include "runtime/graph/recorded_frame.hpp"

namespace basalt::detail {

/// Of what the task has submitted: it is complete only when the copies have been combined.
void Completion::finish_reductions(Scope& children, Worker& worker) {
    const std::lock_guard guard(children.order.lock);
    if (!children.order.open_reductions.empty()) NewTask::finish_reductions(graph_, children, worker.cache);
}

void Completion::close_children(Task& task, Scope* children) {
    if (std::exception_ptr error = children->take_outcome().error) {
        task.scope->fail(error);  // first: see fail_task()
        graph_.unwritten().fail(task, "task " + task_label(task) + " failed, because a task inside it did");
        graph_.outcomes().note(task, error);
    } else if (task.scope->drained()) {
        const std::string why = "its graph was cancelled before what is inside task " + task_label(task) + " ran";
        graph_.unwritten().fail(task, why);
        graph_.outcomes().note(task, std::make_exception_ptr(Cancelled(why)));
    }
    graph_.retire(children);
}

/// Failures spread along data, and along the edges that after() made.
inline void Completion::spread(std::uint32_t edge, const Task& target, const std::string& failure) {
    if ((edge & TaskPool::spreads_failure) != 0) graph_.unwritten().doom(target, failure);
}

/// `failure`: why the task did not succeed; nullptr where it did.
inline void Completion::release_successors(std::uint64_t closed, const std::string* failure, Worker& worker) {
    const bool was_enqueued = (closed & Task::enqueued) != 0;
    auto edge = static_cast<std::uint32_t>(closed);
    while (edge != Task::no_edge) {
        Task* target = nullptr;
        // read before the decrement: after it the target may run and its slot get another task
        const std::uint32_t this_edge = std::exchange(edge, graph_.pool().next_edge(edge, target));
        if (failure != nullptr) spread(this_edge, *target, *failure);
        if (was_enqueued && target->on_device() != nullptr) {  // enqueued behind this one, see enqueued()
            // release: its driver completes the task once it sees that no edge leads to it any more
            target->on_device()->unfinished.fetch_sub(1, std::memory_order_release);
            continue;
        }
        if (!target->let_go(1)) continue;
        if (target->kind == TaskKind::sync || target->kind == TaskKind::signal) {
            finish(*target, worker);
        } else if (target->on_device() != nullptr) {
            dispatch_.to_device(*target);
        } else {
            worker.released.push_back(target);
        }
    }
}

/// Where the kernel needs to be destroyed.
void Completion::destroy_kernel(Task& task, Worker& worker) {
    if (worker.post == Worker::Post::driver) {  // a driver has no place to work at
        graph_.pool().destroy_kernel(worker.cache, task);
        return;
    }
    const ThreadContext between_tasks(graph_, &worker, nullptr, &task);  // destructors may wait, and work meanwhile
    graph_.pool().destroy_kernel(worker.cache, task);
}

inline void Completion::clear_payload(Task& task, Worker& worker) {
    if (task.ops != nullptr && task.ops->destroy == nullptr && !task.kernel_in_block) {
        task.ops = nullptr;
    } else {
        destroy_kernel(task, worker);
    }
    graph_.pool().give_back_accesses(worker.cache, task);
    if (DeviceWork* work = task.on_device()) graph_.device_works().give_back(*work);
    graph_.pool().give_back_relays(worker.cache, task.relay);
}

/// Counts the task as done. Returns the scope's owner if this was the last of its children.
inline Task* Completion::settle(Scope& scope, Worker& worker) {
    if (!scope.counts_outstanding) {
        // release: pairs with Progress::completed(); only this place writes the counter
        worker.completed.store(worker.completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        return nullptr;
    }
    Task* owner = scope.owner;
    const std::int64_t left = graph_.count_left(scope);
    if (left == 0) {
        close_children(*owner, &scope);
        return owner;
    }
    // somebody may be waiting for just this; the scope may be gone by now and is only a name here
    if (left == 1 && parking_.anyone_parked()) parking_.wake_scope(&scope);
    return nullptr;
}

/// Returns the task around it that completes next, if this was the last of its children.
Task* Completion::complete(Task& task, Worker& worker, const std::string* failure) {
    if (task.commutes) ready_.release_regions(task, worker.released);
    if (placed_ != nullptr) placed_->completed(task);  // before its slot may have another tenant
    Scope& scope = *task.scope;
    const bool wakes = task.kind == TaskKind::internal || task.kind == TaskKind::signal;
    release_successors(task.close_successors(), failure, worker);
    // only now: destroying what the kernel captured may wait for data that this very task used
    clear_payload(task, worker);
    graph_.pool().give_back(worker.cache, task.slot);
    Task* owner = settle(scope, worker);
    // threads that wait for one datum or task wait for such a task; the scope may be gone and is only a name here
    if (wakes && parking_.anyone_parked()) parking_.wake_waiting();
    return owner;
}

/// The same for a task that is recorded, or that others' failures may concern.
Task* Completion::complete_with_care(Task& task, Worker& worker) {
    std::shared_ptr<const std::string> failure;
    if (graph_.unwritten().any() && is_users(task.kind)) {
        const Unwritten::Ending ending = graph_.unwritten().settle(task);
        if (ending.refusal) drop_task(graph_, task, *ending.refusal);
        failure = ending.failure;
    }
    if (task.kind == TaskKind::recorded) {
        auto& frame = static_cast<RecordedFrame&>(task);
        Scope* const ended = frame.run->task_done(frame, worker, failure);
        return ended != nullptr ? settle(*ended, worker) : nullptr;
    }
    return complete(task, worker, failure.get());
}

void Completion::finish(Task& task, Worker& worker) {
    // the last child of a task completes it: one after the other, however deep they are nested
    for (Task* next = &task; next != nullptr;) {
        const bool plain = !graph_.unwritten().any() && next->kind != TaskKind::recorded;
        next = plain ? complete(*next, worker, nullptr) : complete_with_care(*next, worker);
    }
}

void Completion::kernel_done(Task& task, Worker& worker) {
    Scope* children = task.children.load(std::memory_order_acquire);
    if (children != nullptr) {
        finish_reductions(*children, worker);
        // acq_rel: the thread that completes the task has seen all that its kernel and its children wrote
        if (children->outstanding.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        close_children(task, children);
    }
    finish(task, worker);
}

void Completion::leave(Scope& scope, Worker& worker) {
    if (Task* owner = settle(scope, worker)) finish(*owner, worker);
}

void Completion::enqueued(Task& task) {
    const DeviceWork& work = *task.on_device();
    // release: a submitter that sees the mark sees the ends; acquire: the edges' contents. The edges stay on the list.
    auto edge = static_cast<std::uint32_t>(task.successors.fetch_or(Task::enqueued, std::memory_order_acq_rel));
    std::shared_ptr<const std::string> failure;
    if (graph_.unwritten().any()) failure = graph_.unwritten().failure_of(task);
    while (edge != Task::no_edge) {
        Task* target = nullptr;
        const std::uint32_t this_edge = std::exchange(edge, graph_.pool().next_edge(edge, target));
        if (failure) spread(this_edge, *target, *failure);
        DeviceWork* successor = target->on_device();
        if (successor == nullptr) continue;  // it waits for completion
        std::array<StreamPoint, DeviceWork::most_ends> ends;
        const std::size_t count = work.ends_for(*successor, ends);
        for (std::size_t i = 0; i < count; ++i) successor->waits.add(ends[i]);
        if (target->let_go(1)) dispatch_.to_device(*target);
    }
}

void Completion::hand_on(Worker& worker) {
    if (!worker.released.empty()) ready_.push(worker.released.data(), worker.released.size(), nullptr);
    worker.released.clear();
}

}  // namespace basalt::detail
