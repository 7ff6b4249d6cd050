// What happens from the moment a task may run until its successors are free.
#include <algorithm>
#include <mutex>
#include <string>

#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

TeamBarrier& solo_barrier() {
    static TeamBarrier barrier(1);
    return barrier;
}

const char* mode_name(AccessMode mode) {
    switch (mode) {
        case AccessMode::read: return "read";
        case AccessMode::write: return "write";
        case AccessMode::readwrite: return "readwrite";
        case AccessMode::commute: return "commute";
    }
    return "";
}

std::string data_label(const Task& task) {
    constexpr std::uint32_t most_shown = 8;
    std::string text;
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < std::min(task.access_count, most_shown); ++i) {
        const BoundAccess& a = access[i];
        if (i > 0) text += ", ";
        text += std::string(mode_name(a.mode)) + " " + a.version->datum->name + " rows [" +
                std::to_string(a.row_begin) + ", " + std::to_string(a.row_end) + ")";
    }
    if (task.access_count > most_shown) text += ", ...";
    return text;
}

std::exception_ptr wrap_error(const Task& task, const std::string& device, std::exception_ptr cause) {
    const std::string label = task_label(task);
    const std::string data = data_label(task);
    std::string reason = "an exception that is no std::exception";
    try {
        std::rethrow_exception(cause);
    } catch (const std::exception& error) {
        reason = error.what();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the text above says it
    }
    std::string what = "task " + label + " failed on " + device + ": " + reason;
    if (!data.empty()) what += " [" + data + "]";
    return std::make_exception_ptr(TaskError(what, label, data, device, std::move(cause)));
}

template <class E>
bool is(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const E&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

std::string task_label(const Task& task) {
    const std::string tile = tile_text(task.tile);
    return tile.empty() ? task.name : std::string(task.name) + "(" + tile + ")";
}

/// Runs the task; returns what the worker should run next, if its completion made something ready.
Task* Engine::run_one(Task& task, Worker& worker, int min_level) {
    if (task.gang) {
        run_gang(task, worker);
    } else {
        if (task.kind != TaskKind::user || !task.scope->drained()) run_kernel(task, worker, Team(0, solo_barrier()));
        kernel_done(task, worker);
    }
    return choose_next(worker, min_level);
}

void Engine::run_kernel(Task& task, Worker& worker, const Team& team) {
    ThreadContext context{this, &worker, &task, context_};
    context_ = &context;
    // who works on behalf of a gang, as a member or on its children, counts as busy with it (see GangHall)
    const bool for_gang = team.size() > 1 || task.scope->inside_gang;
    worker.gangs += for_gang ? 1 : 0;
    const bool traced = trace_.enabled() && task.kind == TaskKind::user;
    const std::int64_t begin = traced ? TraceRecorder::now() : 0;
    bool failed = false;
    try {
        task.ops->run(task.kernel_storage(), team);
    } catch (...) {
        fail(task, "cpu worker " + std::to_string(worker.place));
        failed = true;
    }
    if (traced) trace_.record(worker.place, task, begin);
    worker.gangs -= for_gang ? 1 : 0;
    context_ = context.outer;
    // nobody may wait for this member any more
    if (team.size() > 1) failed ? team.poison() : team.drop();
}

/// Calls the task's device kernel, which may neither submit nor wait. Where it computes in its stream's turn, its graph
/// may have been cancelled meanwhile.
void Engine::run_on_device(Task& task, Stream stream) {
    if (task.scope->drained()) return;
    struct Inside {
        Inside(Engine& engine, Task& task) : context{&engine, nullptr, &task, context_} { context_ = &context; }
        ~Inside() { context_ = context.outer; }
        ThreadContext context;
    };
    const Inside inside(*this, task);
    task.ops->run_on_device(task.kernel_storage(), stream);
}

void Engine::fail(Task& task, const std::string& place) {
    std::exception_ptr error = std::current_exception();
    // that a graph was cancelled is no news to it
    if (is<Cancelled>(error) && task.scope->drained()) return;
    // a child's error that the parent did not handle keeps naming the child
    if (!is<TaskError>(error)) error = wrap_error(task, place, std::move(error));
    task.scope->fail(std::move(error));
}

/// The kernel has returned. The task completes now, or with the last of its children.
void Engine::kernel_done(Task& task, Worker& worker) {
    Scope* children = task.children.load(std::memory_order_acquire);
    if (children != nullptr) {
        // acq_rel: whoever completes the task has seen all that its kernel and its children wrote
        if (children->outstanding.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        close_children(task, children);
    }
    finish(task, worker);
}

void Engine::close_children(Task& task, Scope* children) {
    if (std::exception_ptr error = children->take_error()) task.scope->fail(std::move(error));
    {
        const std::lock_guard guard(statistics_lock_);
        finished_.tasks += children->user_tasks;
        finished_.edges += children->edges;
        finished_.dropped += children->dropped;
        finished_.sync_nodes += children->sync_nodes;
        finished_.renamed += children->renamed;
    }
    delete children;
}

void Engine::clear_payload(Task& task, Worker& worker) {
    if (task.ops != nullptr && task.ops->destroy == nullptr && task.kernel_is_inline()) {
        task.ops = nullptr;
    } else if (task.ops != nullptr) {
        // what the kernel captured is destroyed outside all tasks; a driver has no place to work at meanwhile
        const bool has_place = worker.place < places();
        ThreadContext context{this, &worker, nullptr, context_};
        if (has_place) context_ = &context;
        destroy_kernel(task);
        context_ = context.outer;
    }
    if (task.more_accesses != nullptr) delete[] task.more_accesses;
    if (DeviceWork* work = task.on_device()) device_works_.give_back(*work);
    pool_.give_back_relays(worker.cache, task.relay);
}

void Engine::finish(Task& task, Worker& worker) {
    if (task.commutes) commute_.release(task, worker.released);
    Scope& scope = *task.scope;
    const bool internal = task.kind == TaskKind::internal;
    const std::uint64_t next_tenant = Task::after(task.successors.load(std::memory_order_relaxed));
    // release: who finds the generation advanced sees what the task wrote; acquire: the edges' contents
    release_successors(task.successors.exchange(next_tenant, std::memory_order_acq_rel), worker);
    // only now: destroying what the kernel captured may wait for data that this very task used
    clear_payload(task, worker);
    pool_.give_back(worker.cache, task.slot);
    settle(scope, worker);
    // threads that wait for one datum wait for such a task; the scope may be gone and is only a name here
    if (internal && parking_.anyone_parked()) parking_.wake_scope(&scope);
}

void Engine::release_successors(std::uint64_t closed, Worker& worker) {
    const bool was_enqueued = (closed & Task::enqueued) != 0;
    auto edge = static_cast<std::uint32_t>(closed);
    while (edge != Task::no_edge) {
        Task* target = nullptr;
        // read before the decrement, after which the target may run and its slot be taken anew
        edge = next_edge(edge, target);
        if (was_enqueued && target->on_device() != nullptr) {  // enqueued behind this one, see release_enqueued()
            // release: its driver takes the task down once it sees that nobody leads to it any more
            target->on_device()->unfinished.fetch_sub(1, std::memory_order_release);
            continue;
        }
        // acq_rel: the last predecessor passes on what all of them wrote
        if (target->pending.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
        if (target->kind == TaskKind::sync) {
            finish(*target, worker);
        } else if (target->on_device() != nullptr) {
            dispatch(*target);
        } else {
            worker.released.push_back(target);
        }
    }
}

void Engine::release_enqueued(Task& task) {
    const DeviceWork& work = *task.on_device();
    // release: a submitter that sees the mark sees the ends; acquire: the edges' contents. The edges stay on the list.
    auto edge = static_cast<std::uint32_t>(task.successors.fetch_or(Task::enqueued, std::memory_order_acq_rel));
    while (edge != Task::no_edge) {
        Task* target = nullptr;
        edge = next_edge(edge, target);
        DeviceWork* successor = target->on_device();
        if (successor == nullptr) continue;  // it waits for completion
        std::array<StreamPoint, DeviceWork::most_ends> ends;
        const std::size_t count = work.ends_for(*successor, ends);
        for (std::size_t i = 0; i < count; ++i) successor->waits.add(ends[i]);
        if (target->pending.fetch_sub(1, std::memory_order_acq_rel) == 1) dispatch(*target);
    }
}

/// Hands what became ready on a thread that runs no tasks to those that do.
void Engine::hand_on(Worker& worker) {
    if (!worker.released.empty()) make_ready(worker.released.data(), worker.released.size(), nullptr);
    worker.released.clear();
}

/// Counts the task as done; the last child of a task completes it.
void Engine::settle(Scope& scope, Worker& worker) {
    if (scope.owner == nullptr) {
        // release: pairs with completed(); only this place writes the counter
        worker.completed.store(worker.completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        return;
    }
    Task& owner = *scope.owner;
    const std::int64_t before = scope.outstanding.fetch_sub(1, std::memory_order_acq_rel);
    if (before == 1) {
        close_children(owner, &scope);
        finish(owner, worker);
    } else if (before == 2 && parking_.anyone_parked()) {
        // the owner may be waiting for just this; the scope may be gone by now and is only a name here
        parking_.wake_scope(&scope);
    }
}

/// Of the tasks that just became ready, keeps the best one to run next and hands the others to the scheduler.
Task* Engine::choose_next(Worker& worker, int min_level) {
    std::vector<Task*>& released = worker.released;
    if (released.empty()) return nullptr;
    Task* best = nullptr;
    std::size_t kept = 0;
    for (Task* task : released) {
        if (task->scope->level >= min_level && !task->commutes &&
            (best == nullptr || task->priority > best->priority)) {
            std::swap(best, task);
        }
        if (task != nullptr) released[kept++] = task;
    }
    if (kept > 0) make_ready(released.data(), kept, &worker);
    released.clear();
    if (best == nullptr) return nullptr;
    best = scheduler(best->scope->level).exchange(worker.place, best);
    if (!may_lead(worker, *best)) {
        make_ready(&best, 1, &worker);
        return nullptr;
    }
    return best;
}

}  // namespace basalt::detail
