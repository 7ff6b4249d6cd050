#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/common/catch.hpp"

namespace basalt_tests {

/// Ends the program with a message when what it guards takes too long, so that a deadlock fails quickly.
class Watchdog {
  public:
    static constexpr std::chrono::seconds default_limit{60};

    /// `what` names what runs, e.g. a seed; the name of the Catch2 test case is added.
    explicit Watchdog(std::string what = {}, std::chrono::seconds limit = default_limit)
        : test_(Catch::getResultCapture().getCurrentTestName()),
          what_(std::move(what)),
          limit_(limit),
          deadline_(std::chrono::steady_clock::now() + limit),
          thread_([this] { watch(); }) {}
    ~Watchdog() {
        {
            const std::lock_guard guard(lock_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    /// Something new begins: the time starts again.
    void restart(std::string what) {
        const std::lock_guard guard(lock_);
        what_ = std::move(what);
        deadline_ = std::chrono::steady_clock::now() + limit_;
    }

  private:
    void watch() {
        std::unique_lock guard(lock_);
        while (!over_) {
            if (std::chrono::steady_clock::now() >= deadline_) {
                std::fprintf(stderr, "\nwatchdog: '%s' %s did not end within %lld s\n", test_.c_str(), what_.c_str(),
                             static_cast<long long>(limit_.count()));
                std::abort();
            }
            const auto deadline = deadline_;
            changed_.wait_until(guard, deadline);
        }
    }

    const std::string test_;
    std::string what_;  // guarded by lock_, like the two below
    const std::chrono::seconds limit_;
    std::chrono::steady_clock::time_point deadline_;
    bool over_ = false;
    std::mutex lock_;
    std::condition_variable changed_;
    std::thread thread_;
};

}  // namespace basalt_tests
