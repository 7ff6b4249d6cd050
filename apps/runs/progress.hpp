#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace basalt {

/// A line with a bar, the rate and the time left, shown on a terminal when runs take longer than two seconds.
///
/// Shows nothing if standard output or standard error is not a terminal. Within a run the bar is an estimate: it moves
/// at the rate of the previous run, and in the first one at `rate`.
class Progress {
  public:
    using Clock = std::chrono::steady_clock;

    /// Whether there is a terminal to draw on.
    static bool wanted();

    /// `total_flops`: the operations of all runs together. `rate`: the expected flop/s of the first run.
    Progress(double total_flops, double rate);
    /// Erases the line.
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void begin_run(double flops);
    void end_run();

  private:
    void draw_until_stopped();
    std::string line() const;
    void erase();

    const double total_flops_;
    const Clock::time_point start_ = Clock::now();
    mutable std::mutex mutex_;  // guards everything below, except drawer_
    std::condition_variable stop_signal_;
    bool stopped_ = false;
    bool running_ = false;
    bool drawn_ = false;
    double rate_;
    double done_flops_ = 0;
    double run_flops_ = 0;
    Clock::time_point run_start_ = start_;
    std::thread drawer_;
};

}  // namespace basalt
