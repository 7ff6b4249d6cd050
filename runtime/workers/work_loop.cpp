#include "runtime/workers/work_loop.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "base/spin_lock.hpp"

namespace basalt::detail {

namespace {

// Polling for work, in pauses of about 30 ns: after some 300 us the thread sleeps. Waking a sleeper costs the waker a
// system call.
constexpr int first_pause_in_short_tasks = 160;
constexpr int longest_pause = 400;
constexpr int pauses_before_sleep = 10'000;

// A thread that waits for everything polls for longer where there are GPUs: waking it would take as long as a small
// factorization.
constexpr auto polling_beside_gpus = std::chrono::milliseconds(5);

// To see whether it may stop, a thread reads the counter of every place. It does so after every long task, but only
// after one in many short ones.
constexpr int most_tasks_between_looks = 64;
constexpr auto long_between_looks = std::chrono::microseconds(100);

// The longest sleep of a thread that waits for something. What it waits for may happen without any task being queued,
// as when each task of a chain hands the next one directly to its own worker.
constexpr auto longest_nap = std::chrono::milliseconds(10);

// How long a thread stays away that ran out of very short tasks.
constexpr int pauses_after_short_tasks = 4000;

/// How long the tasks took that a thread ran between two times without work.
class Stretch {
  public:
    /// A task is about to run.
    void count() {
        if (tasks_ == 0) begin_ = std::chrono::steady_clock::now();
        ++tasks_;
    }
    /// The thread has no work. The mean time of its tasks since the last end; empty if there were none.
    std::optional<std::chrono::nanoseconds> end() {
        if (tasks_ == 0) return std::nullopt;
        return (std::chrono::steady_clock::now() - begin_) / std::exchange(tasks_, 0);
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

void pause_for(int pauses) {
    for (int i = 0; i < pauses; ++i) cpu_relax();
}

void stay_away(const std::function<bool()>& done) {
    constexpr int at_a_time = 160;
    for (int i = 0; i < pauses_after_short_tasks && !done(); i += at_a_time) pause_for(at_a_time);
}

}  // namespace

/// When threads without work look for some, by the length of the tasks that they ran last.
///
/// A look takes a cache line from a thread that has work, and a steal some more, up to half a microsecond on both
/// sides. A thread that looks seldom disturbs the others less and finds enough tasks at once to be worth a steal. One
/// that looks soon is there when the next task is ready. What the thread with work loses should grow with the number of
/// those that look, so the times do. They were measured with one other thread (docs/decisions/0002-runtime.md), and
/// end at those that were chosen for many before.
struct WorkLoop::PollingPace {
    /// `others`: threads that may look at the same time, at least 1.
    explicit PollingPace(int others)
        : first_pause(std::min(20, 5 * others)),
          worth_quick_polls(std::min(2000, 200 * others)),
          shortest_to_fetch(std::min(500, 200 * others)) {}

    const int first_pause;
    const std::chrono::nanoseconds worth_quick_polls;  ///< after longer tasks, with the first pause
    const std::chrono::nanoseconds shortest_to_fetch;  ///< after shorter tasks the thread stays away for a while
};

/// A thread without work: how long it has been polling, and how it sleeps.
struct WorkLoop::Idleness {
    const bool patient;  ///< polls for longer, since it waits for GPUs
    const PollingPace pace;
    ParkingLot::Sleeper sleeper{};
    int polls = 0;
    int paused = 0;      ///< pauses since it has had no work
    bool quick = false;  ///< polls soon again, since tasks are long
    std::chrono::steady_clock::time_point since{};

    void start_over() { polls = paused = 0; }

    /// Pauses from this poll to the next one, which are counted.
    int next_pauses() {
        const int wanted = quick ? pace.first_pause << std::min((polls - 1) / 4, 7)
                                 : first_pause_in_short_tasks << std::min(polls - 1, 2);
        const int pauses = std::min(longest_pause, wanted);
        paused += pauses;
        return pauses;
    }

    /// Counts a fruitless look for work. Whether to poll again instead of sleeping.
    bool poll_again() {
        if (++polls == 1 && patient) since = std::chrono::steady_clock::now();
        return paused < pauses_before_sleep ||
               (patient && std::chrono::steady_clock::now() - since < polling_beside_gpus);
    }
};

/// A task of min_level or deeper; gangs that assemble come first.
Task* WorkLoop::find_work(Worker& worker, int min_level) {
    if (worker.counts_as_late()) Gangs::is_late(worker);  // or it would count as late for longer than it is
    while (p_.gangs.any_for(worker) && p_.gangs.join(worker)) {
    }
    return p_.ready.pop(worker, min_level);
}

/// Runs the task; returns what the worker should run next, if its completion made something ready.
Task* WorkLoop::run_one(Task& task, Worker& worker, int min_level) {
    if (task.gang) {
        p_.gangs.lead(task, worker);
    } else {
        p_.kernels.run_alone(task, worker);
    }
    p_.completion.kernel_done(task, worker);
    return p_.ready.choose_next(worker, min_level);
}

void WorkLoop::work_until(Worker& worker, int min_level, const void* awaited, const std::function<bool()>& done,
                          Deadline deadline) {
    // a destructor of a kernel may wait before its task's successors have been handed on
    Task* next = p_.ready.choose_next(worker, min_level);
    // the stand-in itself waits for nothing
    Idleness idle{awaited == &p_.root && p_.real_gpus && !p_.outside.stand_in_works(),
                  PollingPace(std::max(1, p_.workers - 1))};
    idle.sleeper.min_level = min_level;
    idle.sleeper.scope = awaited;
    idle.sleeper.outside_gangs = worker.gangs == 0;
    LookInterval look;
    Stretch stretch;
    while (true) {
        const bool late = deadline && std::chrono::steady_clock::now() >= *deadline;
        if (late || ((next == nullptr || look.due()) && done())) {
            if (next != nullptr) p_.ready.push(&next, 1, &worker);
            p_.ready.pass_on_wake_up();
            return;
        }
        if (next == nullptr) next = find_work(worker, min_level);
        if (next != nullptr) {
            idle.start_over();
            stretch.count();
            next = run_one(*next, worker, min_level);
            continue;
        }
        worker.searching = true;
        if (idle.polls == 0) {
            p_.progress.announce_quiescence();
            if (const auto mean = stretch.end()) {
                idle.quick = *mean >= idle.pace.worth_quick_polls;
                if (*mean < idle.pace.shortest_to_fetch) stay_away(done);
            }
        }
        if (idle.poll_again()) {
            pause_for(idle.next_pauses());
        } else {
            sleep(worker, idle, done, deadline);
        }
    }
}

/// Until there is work, or done() may hold, or the deadline.
void WorkLoop::sleep(Worker& worker, Idleness& idle, const std::function<bool()>& done, Deadline deadline) {
    ParkingLot::Sleeper& sleeper = idle.sleeper;
    idle.start_over();
    p_.parking.announce(sleeper);
    const bool gang_waits = p_.gangs.any_for(worker) && worker.gangs == 0;
    if (done() || p_.ready.any(sleeper.min_level) || gang_waits) {
        p_.parking.leave(sleeper);
        std::this_thread::yield();
        return;
    }
    p_.progress.announce_quiescence();
    Deadline wake_up = deadline;
    if (sleeper.scope != nullptr) {
        const auto nap_end = std::chrono::steady_clock::now() + longest_nap;
        wake_up = deadline ? std::min(*deadline, nap_end) : nap_end;
    }
    const bool woken = p_.parking.sleep(sleeper, wake_up);
    if (woken) return;
    idle.polls = 1;  // a nap's end is no reason to poll for long
    idle.paused = pauses_before_sleep;
}

}  // namespace basalt::detail
