#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/drivers/driver.hpp"
#include "runtime/observe/diary.hpp"
#include "runtime/observe/waiters.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

/// A thread that notices when no task begins or ends for long although somebody waits, and prints what waits for what:
/// once for each such standstill, on standard error.
class Watchdog {
  public:
    /// What the watchdog looks at.
    struct Parts {
        TaskGraph& graph;
        const Progress& progress;
        const Waiters& waiters;
        const Diary& diary;
        const std::vector<std::unique_ptr<Driver>>& drivers;
        std::chrono::milliseconds limit;
    };
    explicit Watchdog(const Parts& parts) : p_(parts) {}
    ~Watchdog() { stop(); }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// Starts the thread. Throws Error where the system allows no more of them.
    void start();
    void stop();

    /// What waits for what now. `quiet`: for how long nothing has begun or ended.
    std::string report(std::chrono::nanoseconds quiet) const;

  private:
    struct InFlight;

    void watch();
    InFlight look() const;
    void print_running(std::string& text, const InFlight& tasks) const;
    void print_waiting(std::string& text, const InFlight& tasks) const;
    void print_ready(std::string& text, const InFlight& tasks) const;
    void print_unready(std::string& text, const InFlight& tasks) const;
    void print_streams(std::string& text) const;
    std::string predecessors_of(const Diary::Entry& entry) const;
    std::string label_of(TaskRef task) const;

    const Parts p_;
    std::mutex lock_;  // guards stop_
    std::condition_variable stopped_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace basalt::detail
