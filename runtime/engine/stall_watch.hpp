#pragma once

#include <chrono>
#include <cstdint>

namespace basalt::detail {

/// Notices, for one thread that waits, that nothing happens.
class StallWatch {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit StallWatch(std::chrono::nanoseconds limit) : limit_(limit) {}

    /// Whether to look at all: once in 64 times, since the clock takes long to read on some machines, and looking reads
    /// what every worker writes. (A thread without work asks at least every 10 ms.)
    bool due() { return ++asked_ % 64 == 0; }
    /// `activity` changes whenever something happens. True once, when it has not changed for longer than the limit.
    bool stalled(std::uint64_t activity, Time now) {
        if (!started_ || activity != activity_) {
            started_ = true;
            activity_ = activity;
            since_ = now;
        }
        if (told_ || now - since_ <= limit_) return false;
        told_ = true;
        return true;
    }

  private:
    const std::chrono::nanoseconds limit_;
    bool started_ = false;
    bool told_ = false;
    std::uint64_t activity_ = 0;
    Time since_{};
    std::uint32_t asked_ = 0;
};

}  // namespace basalt::detail
