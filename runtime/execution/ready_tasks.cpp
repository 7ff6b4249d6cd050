#include "runtime/execution/ready_tasks.hpp"

#include <optional>
#include <utility>

namespace basalt::detail {

namespace {

/// Whether the worker may run the task: a member of a running gang leads no gang that waits for members.
bool may_lead(const Worker& worker, const Task& task) {
    return !task.gang || worker.gangs == 0 || task.scope->inside_gang;
}

}  // namespace

ReadyTasks::ReadyTasks(std::string policy, Neighbours places, ParkingLot& parking)
    : policy_(std::move(policy)), places_(std::move(places)), parking_(parking) {
    make_level(0);
}

Scheduler& ReadyTasks::make_level(int index) {
    const std::lock_guard guard(lock_);
    auto& entry = schedulers_[static_cast<std::size_t>(index)];
    if (entry.load(std::memory_order_relaxed) == nullptr) {
        owned_schedulers_.push_back(make_scheduler(policy_, places_));
        entry.store(owned_schedulers_.back().get(), std::memory_order_release);
        deepest_level_.store(std::max(index, deepest_level_.load(std::memory_order_relaxed)),
                             std::memory_order_seq_cst);
    }
    return *entry.load(std::memory_order_relaxed);
}

bool ReadyTasks::any(int min_level) const {
    for (int level = deepest_level_.load(std::memory_order_seq_cst); level >= std::min(min_level, levels - 1);
         --level) {
        Scheduler* queue = schedulers_[static_cast<std::size_t>(level)].load(std::memory_order_acquire);
        if (queue != nullptr && !queue->empty()) return true;
    }
    return false;
}

void ReadyTasks::push(Task* const* tasks, std::size_t count, const Worker* worker) {
    const std::optional<int> place = worker != nullptr ? std::optional(worker->place) : std::nullopt;
    std::size_t run = 0;  // start of a run of tasks that go to one queue together
    auto push_run = [&](std::size_t end) {
        if (end == run) return;
        const int level = tasks[run]->scope->level;
        // Only the first task of a queue wakes a thread; one that finds more than it takes wakes the next (pop()).
        const bool was_empty = scheduler(level).push(place, tasks + run, end - run);
        if (was_empty && parking_.anyone_parked()) parking_.wake(level, 1);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const bool held = tasks[i]->commutes && !commute_.acquire(*tasks[i]);
        if (held || tasks[i]->scope->level != tasks[run]->scope->level) {
            push_run(i);
            run = held ? i + 1 : i;
        }
    }
    push_run(count);
}

Task* ReadyTasks::pop_at_place(Worker& worker, int min_level) {
    Task* found = nullptr;
    for (int level = deepest_level_.load(std::memory_order_acquire);
         found == nullptr && level >= std::min(min_level, levels - 1); --level) {
        Scheduler* queue = schedulers_[static_cast<std::size_t>(level)].load(std::memory_order_acquire);
        if (queue != nullptr) found = pop_level(*queue, level, worker);
    }
    if (!worker.set_aside.empty()) push_set_aside(worker);
    return found;
}

Task* ReadyTasks::pop_level(Scheduler& queue, int level, Worker& worker) {
    Scheduler::Found found = queue.pop(worker.place);
    // A thread that was woken wakes the next one, and so does one that took more than it runs: a thread that looked
    // while those tasks were in no queue may have gone to sleep.
    if (found.task != nullptr && (worker.searching || found.kept_more)) {
        worker.searching = false;
        if (!queue.empty() && parking_.anyone_parked()) parking_.wake(level, 1);
    }
    while (found.task != nullptr && !may_lead(worker, *found.task)) {
        worker.set_aside.push_back(found.task);
        found = queue.pop(worker.place);
    }
    return found.task;
}

/// Tasks that this worker may not run go back.
void ReadyTasks::push_set_aside(Worker& worker) {
    for (Task* task : worker.set_aside) scheduler(task->scope->level).push(worker.place, &task, 1);
    worker.set_aside.clear();
    // rare; and not every sleeper may lead these gangs either
    if (parking_.anyone_parked()) parking_.wake(levels, places_.places());
}

Task* ReadyTasks::choose_released(Worker& worker, int min_level) {
    std::vector<Task*>& released = worker.released;
    Task* best = released.front();
    if (released.size() == 1 && !best->commutes && best->scope->level >= min_level) {
        released.clear();
    } else {
        best = choose_among_released(worker, min_level);
    }
    if (best == nullptr) return nullptr;
    best = scheduler(best->scope->level).exchange(worker.place, best);
    if (best == nullptr) return nullptr;
    if (!may_lead(worker, *best)) {
        push(&best, 1, &worker);
        return nullptr;
    }
    return best;
}

/// The task of the highest priority; the others go to the scheduler.
Task* ReadyTasks::choose_among_released(Worker& worker, int min_level) {
    std::vector<Task*>& released = worker.released;
    Task* best = nullptr;
    std::size_t kept = 0;
    for (Task* task : released) {
        if (task->commutes && !commute_.acquire(*task)) continue;  // release_regions() will bring it back
        if (task->scope->level >= min_level && (best == nullptr || task->priority > best->priority)) {
            std::swap(best, task);
        }
        if (task != nullptr) released[kept++] = task;
    }
    if (kept > 0) push(released.data(), kept, &worker);
    released.clear();
    return best;
}

}  // namespace basalt::detail
