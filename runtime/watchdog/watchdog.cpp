#include "runtime/watchdog/watchdog.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "base/start_thread.hpp"
#include "runtime/graph/recorded_frame.hpp"

namespace basalt::detail {

namespace {

using Clock = std::chrono::steady_clock;

// Of each kind of task.
constexpr std::size_t most_lines = 8;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::string more_than(std::size_t shown, std::size_t all) {
    return all > shown ? fmt::format("    and {} more\n", all - shown) : std::string();
}

}  // namespace

/// The tasks in flight, by what they wait for.
struct Watchdog::InFlight {
    struct Running {
        std::string label;
        std::string place;
        std::chrono::nanoseconds time;
    };
    std::vector<Running> running;
    std::vector<Waiters::Waiter> waiters;
    std::vector<Diary::Entry> ready;
    std::vector<Diary::Entry> unready;        ///< they wait for other tasks
    std::vector<Diary::Entry> with_children;  ///< their kernels have returned
};

void Watchdog::start() {
    thread_ = start_thread("the thread of the watchdog", [this] { watch(); });
}

void Watchdog::stop() {
    {
        const std::lock_guard guard(lock_);
        stop_ = true;
    }
    stopped_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Watchdog::watch() {
    using std::chrono::milliseconds;
    const auto period = std::clamp<milliseconds>(p_.limit / 16, milliseconds(1), milliseconds(500));
    std::uint64_t activity = p_.progress.activity();
    Clock::time_point since = Clock::now();
    bool told = false;
    std::unique_lock guard(lock_);
    while (!stopped_.wait_for(guard, period, [this] { return stop_; })) {
        const Clock::time_point now = Clock::now();
        const std::uint64_t seen = p_.progress.activity();
        if (seen != activity || (!told && !p_.waiters.any())) {
            activity = seen;
            since = now;
            told = false;
        }
        if (told || now - since < p_.limit) continue;
        told = true;
        const std::string text = report(now - since);
        std::fputs(text.c_str(), stderr);
        std::fflush(stderr);
    }
}

std::string Watchdog::label_of(TaskRef task) const {
    const auto entry = p_.diary.find(task);
    return entry ? "'" + entry->label() + "'" : "a task of the runtime's own";
}

Watchdog::InFlight Watchdog::look() const {
    InFlight tasks;
    tasks.waiters = p_.waiters.all();
    const auto waits = [&](TaskRef task) {
        return std::any_of(tasks.waiters.begin(), tasks.waiters.end(),
                           [&](const auto& waiter) { return waiter.task.valid() && waiter.task == task; });
    };
    std::vector<TaskRef> begun;
    for (const Worker* worker : p_.progress.workers()) {
        const char* const name = worker->running.load(std::memory_order_relaxed);
        if (name == nullptr) continue;
        const TaskRef task = unpacked(worker->running_task.load(std::memory_order_relaxed));
        const std::int64_t since = worker->running_since.load(std::memory_order_relaxed);
        if (task.valid()) begun.push_back(task);
        if (task.valid() && waits(task)) continue;
        const auto time = std::chrono::nanoseconds(task.valid() ? TraceRecorder::now() - since : 0);
        const auto label = [&] {
            if (is_frame(task)) return fmt::format("'{}' of a recording", name);
            return task.valid() ? label_of(task) : fmt::format("'{}', as a member of a gang", name);
        };
        tasks.running.push_back(
            {label(), worker->post == Worker::Post::spare ? "a spare thread" : fmt::format("worker {}", worker->place),
             time});
    }
    for (const Diary::Entry& entry : p_.diary.all()) {
        if (p_.graph.completed(entry.task)) continue;
        const bool has_begun = waits(entry.task) || std::find(begun.begin(), begun.end(), entry.task) != begun.end();
        switch (p_.graph.stage(entry.task)) {
            case TaskStage::waits_for_tasks: tasks.unready.push_back(entry); break;
            case TaskStage::has_children:
                if (!has_begun) tasks.with_children.push_back(entry);
                break;
            case TaskStage::on_device: break;  // the streams tell
            case TaskStage::ready:
                if (!has_begun) tasks.ready.push_back(entry);
                break;
        }
    }
    return tasks;
}

std::string Watchdog::report(std::chrono::nanoseconds quiet) const {
    const InFlight tasks = look();
    std::string text = fmt::format("basalt: watchdog: no task has begun or ended for {:.3g} s\n", seconds(quiet));
    print_running(text, tasks);
    print_waiting(text, tasks);
    print_ready(text, tasks);
    print_unready(text, tasks);
    print_streams(text);
    return text;
}

void Watchdog::print_running(std::string& text, const InFlight& tasks) const {
    text += tasks.running.empty() ? "  no kernel runs on cores\n" : "  running on cores (a long task is no error):\n";
    for (std::size_t i = 0; i < std::min(most_lines, tasks.running.size()); ++i) {
        const auto& [label, place, time] = tasks.running[i];
        text += fmt::format("    {} on {}", label, place);
        text += time.count() > 0 ? fmt::format(", for {:.3g} s\n", seconds(time)) : "\n";
    }
    text += more_than(most_lines, tasks.running.size());
}

void Watchdog::print_waiting(std::string& text, const InFlight& tasks) const {
    text += "  waiting:\n";
    for (const Waiters::Waiter& waiter : tasks.waiters) {
        const std::string who =
            waiter.task.valid() ? "task " + label_of(waiter.task) : fmt::format("thread {}", waiter.thread);
        text += fmt::format("    {}: {}, for {:.3g} s\n", who, waiter.what, seconds(Clock::now() - waiter.since));
    }
    for (std::size_t i = 0; i < std::min(most_lines, tasks.with_children.size()); ++i) {
        text += fmt::format("    task '{}' has returned and waits for the tasks inside it\n",
                            tasks.with_children[i].label());
    }
    text += more_than(most_lines, tasks.with_children.size());
}

void Watchdog::print_ready(std::string& text, const InFlight& tasks) const {
    if (tasks.ready.empty()) return;
    text += fmt::format("  ready, but no worker has begun with them ({}):\n", tasks.ready.size());
    for (std::size_t i = 0; i < std::min(most_lines, tasks.ready.size()); ++i) {
        text += fmt::format("    '{}'\n", tasks.ready[i].label());
    }
    text += more_than(most_lines, tasks.ready.size());
}

/// "'a' (x), 'b'": those of the task's predecessors that are known and have not completed.
std::string Watchdog::predecessors_of(const Diary::Entry& entry) const {
    std::string text;
    for (const TaskRef before : p_.graph.known_predecessors(entry.task)) {
        const auto known = p_.diary.find(before);
        const std::string data = known ? entry.common_data(*known) : std::string();
        text += (text.empty() ? "" : ", ") + label_of(before) + (data.empty() ? "" : " (" + data + ")");
    }
    return text.empty() ? "tasks that are not known" : text;
}

void Watchdog::print_unready(std::string& text, const InFlight& tasks) const {
    if (tasks.unready.empty()) return;
    text += fmt::format("  waiting for other tasks ({}), the oldest first:\n", tasks.unready.size());
    for (std::size_t i = 0; i < std::min(most_lines, tasks.unready.size()); ++i) {
        const Diary::Entry& entry = tasks.unready[i];
        const std::string uses = entry.uses_text();
        text += fmt::format("    '{}'{} waits for {}\n", entry.label(), uses.empty() ? "" : " [" + uses + "]",
                            predecessors_of(entry));
    }
    text += more_than(most_lines, tasks.unready.size());
}

void Watchdog::print_streams(std::string& text) const {
    for (const auto& driver : p_.drivers) {
        for (const Driver::StreamHead& head : driver->stream_heads()) {
            text += fmt::format("  {}, stream '{}': first is {}, enqueued {:.3g} s ago\n", driver->device_name(),
                                head.stream, label_of(head.task),
                                seconds(std::chrono::nanoseconds(TraceRecorder::now() - head.since)));
        }
        if (const std::size_t queued = driver->queued()) {
            text += fmt::format("  {}: {} tasks wait for room in its streams\n", driver->device_name(), queued);
        }
    }
}

}  // namespace basalt::detail
