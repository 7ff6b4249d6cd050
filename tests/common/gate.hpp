#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace basalt_tests {

/// What a test's task stands before until the test opens it.
class Gate {
  public:
    ~Gate() { open(); }
    void open() { open_ = true; }

    /// For tasks: says that somebody came, then waits.
    void pass() {
        ++arrived_;
        while (!open_) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }

    /// For tests: waits until that many tasks have come: the thread that tests does not run them then.
    void await_arrival(int wanted = 1) const {
        while (arrived_ < wanted) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }

  private:
    std::atomic<bool> open_{false};
    std::atomic<int> arrived_{0};
};

/// Waits up to `limit` for the condition; returns whether it came true.
template <class Condition>
bool comes_true(Condition&& condition, std::chrono::milliseconds limit = std::chrono::seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

}  // namespace basalt_tests
