// The threads: how they find work, when they sleep, who wakes them.
#include <algorithm>

#include "runtime/engine.hpp"
#include "runtime/topology.hpp"

namespace basalt::detail {

namespace {

// Polling for work: from about 5 us on, growing to some 12 us, in pauses of about 30 ns. So a thread without work
// hardly disturbs the caches of those that have some, and where tasks are tiny it finds enough of them at
// once to be worth a steal (docs/decisions/0002-runtime.md has the measurements). After some 300 us it sleeps;
// waking a sleeper costs the waker a system call.
constexpr int polls_before_sleep = 30;
constexpr int first_pause = 160;
constexpr int longest_pause = 400;

// Who waits for all that GPUs do polls for longer: waking it would take as long as a small factorization does.
constexpr auto polling_beside_gpus = std::chrono::milliseconds(5);

// Looking whether one may stop costs reading every place's counter, so between short tasks it is done once in many,
// and after each task that takes long.
constexpr int most_tasks_between_looks = 64;
constexpr auto long_between_looks = std::chrono::microseconds(100);

// How long a thread that waits for something sleeps at most: what it waits for may come about without any task
// being queued, as when a chain of tasks is passed on from one to the next.
constexpr auto longest_nap = std::chrono::milliseconds(10);

// Fetching a task from another core costs several cache misses on both sides, up to half a microsecond. Where tasks
// are shorter than that, a thread that ran dry stays away for a while, and its neighbour is faster for it.
constexpr auto short_task = std::chrono::nanoseconds(500);
constexpr int pauses_after_short_tasks = 4000;

/// How long the tasks took that a thread ran between two times without work.
class Stretch {
  public:
    void begin() {
        begin_ = std::chrono::steady_clock::now();
        tasks_ = 0;
    }
    void count() { ++tasks_; }
    bool of_short_tasks() const {
        return tasks_ > 0 && std::chrono::steady_clock::now() - begin_ < tasks_ * short_task;
    }

  private:
    std::int64_t tasks_ = 0;
    std::chrono::steady_clock::time_point begin_{};
};

/// When to look next, in tasks: from one on, doubling while looks come in quick succession.
class LookInterval {
  public:
    bool due() {
        if (--left_ > 0) return false;
        const auto now = std::chrono::steady_clock::now();
        tasks_ = now - last_ < long_between_looks ? std::min(2 * tasks_, most_tasks_between_looks) : 1;
        last_ = now;
        left_ = tasks_;
        return true;
    }

  private:
    int tasks_ = 1;
    int left_ = 1;
    std::chrono::steady_clock::time_point last_{};
};

constexpr auto stand_in_period = std::chrono::milliseconds(1);
// A program that submits no more than that in a period is busy with something else most of the time.
constexpr std::uint64_t few_submissions = 16;

void pause_for(int poll) {
    const int pauses = std::min(longest_pause, first_pause << std::min(poll - 1, 3));
    for (int i = 0; i < pauses; ++i) cpu_relax();
}

}  // namespace

Scheduler& Engine::make_level(int index) {
    const std::lock_guard guard(schedulers_lock_);
    auto& entry = schedulers_[static_cast<std::size_t>(index)];
    if (entry.load(std::memory_order_relaxed) == nullptr) {
        owned_schedulers_.push_back(make_scheduler(config_.scheduler, places()));
        entry.store(owned_schedulers_.back().get(), std::memory_order_release);
        deepest_level_.store(std::max(index, deepest_level_.load(std::memory_order_relaxed)),
                             std::memory_order_seq_cst);
    }
    return *entry.load(std::memory_order_relaxed);
}

bool Engine::ready_tasks(int min_level) const {
    for (int level = deepest_level_.load(std::memory_order_seq_cst); level >= std::min(min_level, levels - 1);
         --level) {
        Scheduler* queue = schedulers_[static_cast<std::size_t>(level)].load(std::memory_order_acquire);
        if (queue != nullptr && !queue->empty()) return true;
    }
    return false;
}

/// Hands ready tasks to the scheduler and wakes sleepers for them. Commuting tasks first take their regions.
void Engine::make_ready(Task* const* tasks, std::size_t count, Worker* worker) {
    const int place = worker != nullptr ? worker->place : -1;
    std::size_t run = 0;  // start of a run of tasks that go to one queue together
    auto push = [&](std::size_t end) {
        if (end == run) return;
        const int level = tasks[run]->scope->level;
        // Only the first task of a queue wakes someone; who finds more than it takes wakes the next (find_work).
        const bool was_empty = scheduler(level).push(place, tasks + run, end - run);
        if (was_empty && parking_.anyone_parked()) parking_.wake(level, 1);
    };
    for (std::size_t i = 0; i < count; ++i) {
        const bool held = tasks[i]->commutes && !commute_.acquire(*tasks[i]);
        if (held || tasks[i]->scope->level != tasks[run]->scope->level) {
            push(i);
            run = held ? i + 1 : i;
        }
    }
    push(count);
}

/// A task of min_level or deeper, deepest first: what is begun is finished first.
Task* Engine::find_work(Worker& worker, int min_level) {
    while (hall_.assembling() && join_gang(worker)) {
    }
    Task* found = nullptr;
    for (int level = deepest_level_.load(std::memory_order_acquire);
         found == nullptr && level >= std::min(min_level, levels - 1); --level) {
        Scheduler* queue = schedulers_[static_cast<std::size_t>(level)].load(std::memory_order_acquire);
        if (queue == nullptr) continue;
        found = queue->pop(worker.place);
        if (found != nullptr && worker.searching) {
            worker.searching = false;
            if (!queue->empty() && parking_.anyone_parked()) parking_.wake(level, 1);
        }
        while (found != nullptr && !may_lead(worker, *found)) {
            worker.set_aside.push_back(found);
            found = queue->pop(worker.place);
        }
    }
    if (!worker.set_aside.empty()) {
        for (Task* task : worker.set_aside) scheduler(task->scope->level).push(worker.place, &task, 1);
        worker.set_aside.clear();
        // rare; and not every sleeper may lead these gangs either
        if (parking_.anyone_parked()) parking_.wake(levels, places());
    }
    return found;
}

void Engine::work_until(Worker& worker, int min_level, const void* awaited, const std::function<bool()>& done,
                        std::optional<std::chrono::steady_clock::time_point> deadline) {
    ParkingLot::Sleeper sleeper;
    sleeper.min_level = min_level;
    sleeper.scope = awaited;
    sleeper.may_join = worker.gangs == 0;
    // a destructor of a kernel may wait before its task's successors have been handed on
    Task* next = choose_next(worker, min_level);
    // the stand-in waits for nobody
    const bool patient = awaited == &root_ && has_real_gpus() && !stand_in_works_.load(std::memory_order_relaxed);
    std::chrono::steady_clock::time_point idle_since;
    int idle = 0;
    LookInterval look;
    Stretch stretch;
    stretch.begin();
    while (true) {
        const bool late = deadline && std::chrono::steady_clock::now() >= *deadline;
        if (late || ((next == nullptr || look.due()) && done())) {
            if (next != nullptr) make_ready(&next, 1, &worker);
            // a wake-up meant for some task may have ended here: pass it on
            if (parking_.anyone_parked() && ready_tasks(0)) parking_.wake(levels, 1);
            return;
        }
        if (next == nullptr) next = find_work(worker, min_level);
        if (next != nullptr) {
            if (idle > 0) stretch.begin();
            idle = 0;
            stretch.count();
            next = run_one(*next, worker, min_level);
            continue;
        }
        worker.searching = true;
        if (idle == 0) {
            announce_quiescence();
            if (stretch.of_short_tasks()) {
                for (int i = 0; i < pauses_after_short_tasks && !done(); i += first_pause) pause_for(1);
            }
        }
        if (++idle == 1 && patient) idle_since = std::chrono::steady_clock::now();
        if (idle < polls_before_sleep ||
            (patient && std::chrono::steady_clock::now() - idle_since < polling_beside_gpus)) {
            pause_for(idle);
            continue;
        }
        idle = 0;
        parking_.announce(sleeper);
        const bool gang_waits = hall_.assembling() && worker.gangs == 0;
        if (done() || ready_tasks(min_level) || gang_waits) {
            parking_.leave(sleeper);
            std::this_thread::yield();
            continue;
        }
        announce_quiescence();
        auto wake_up = deadline;
        if (awaited != nullptr) {
            const auto nap_end = std::chrono::steady_clock::now() + longest_nap;
            wake_up = deadline ? std::min(*deadline, nap_end) : nap_end;
        }
        const bool woken = parking_.sleep(sleeper, wake_up);
        if (!woken) idle = polls_before_sleep - 1;  // a nap's end is no reason to poll for long
    }
}

void Engine::worker_main(Worker& worker) {
    if (config_.bind) bind_this_thread(worker.place);
    ThreadContext context{this, &worker, nullptr, nullptr};
    context_ = &context;
    work_until(worker, 0, nullptr, [this] { return stop_.load(std::memory_order_acquire); });
}

/// Works place 0 while tasks are there and no outside thread does: little was submitted for a period, so the
/// program is busy elsewhere. Leaves as soon as an outside thread asks for the place.
void Engine::stand_in_main() {
    if (config_.bind) bind_this_thread(0);
    ThreadContext context{this, workers_[0].get(), nullptr, nullptr};
    context_ = &context;
    std::uint64_t last_submitted = 0;
    std::unique_lock guard(outside_lock_);
    while (!stop_.load(std::memory_order_relaxed)) {
        if (in_flight() == 0) {
            stand_in_parked_.store(true, std::memory_order_seq_cst);
            outside_changed_.wait(guard, [&] { return stop_.load(std::memory_order_relaxed) || in_flight() > 0; });
            stand_in_parked_.store(false, std::memory_order_relaxed);
        }
        outside_changed_.wait_for(guard, stand_in_period, [&] { return stop_.load(std::memory_order_relaxed); });
        const std::uint64_t submitted = root_.submitted.load(std::memory_order_relaxed);
        const bool quiet = submitted - std::exchange(last_submitted, submitted) <= few_submissions;
        if (!quiet || in_flight() == 0 || outside_waiters_.load(std::memory_order_relaxed) > 0) continue;
        if (!take_outside_place()) continue;
        guard.unlock();
        stand_in_works_.store(true, std::memory_order_relaxed);
        work_until(*workers_[0], 0, &root_, [this] {
            return stop_.load(std::memory_order_relaxed) || in_flight() == 0 ||
                   outside_waiters_.load(std::memory_order_relaxed) > 0;
        });
        stand_in_works_.store(false, std::memory_order_relaxed);
        leave_outside_place();
        guard.lock();
    }
}

}  // namespace basalt::detail
