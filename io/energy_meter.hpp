#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/energy_counter.hpp"

namespace basalt {

/// The energy that parts of the machine took in some time.
struct EnergyReading {
    struct Part {
        std::string name;
        double joules = 0;
    };
    double seconds = 0;
    std::vector<Part> parts;
    std::vector<UncountedPart> uncounted;  ///< not in `parts`

    double joules() const;
    double watts() const { return seconds > 0 ? joules() / seconds : 0; }
};

/// Reads counters at the beginning and the end of regions of time, and now and then between, so that none wraps around
/// twice unseen. A counter that can no longer be read is uncounted from then on. Not for use by several threads.
class EnergyMeter {
  public:
    explicit EnergyMeter(EnergyCounters counters, std::chrono::milliseconds between_looks = std::chrono::seconds(30));
    ~EnergyMeter();
    EnergyMeter(const EnergyMeter&) = delete;
    EnergyMeter& operator=(const EnergyMeter&) = delete;

    /// Whether there is a counter at all.
    bool counts() const { return !tallies_.empty(); }

    /// Begins and ends a region. Both take the counters' time: some microseconds each.
    void start();
    void stop();

    /// Of the last region, and of all together.
    EnergyReading last() const;
    EnergyReading total() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Tally {
        EnergyCounter counter;
        std::uint64_t seen = 0;  ///< what it showed when it was last looked at
        std::uint64_t region = 0;
        std::uint64_t total = 0;
        std::string failure = {};  ///< why it is uncounted; empty: it is not
    };

    void look();
    void look_now_and_then();
    EnergyReading reading(double seconds, std::uint64_t Tally::*energy) const;

    const std::chrono::milliseconds between_looks_;
    std::vector<UncountedPart> uncounted_;
    Clock::time_point begin_;
    double seconds_ = 0;
    double total_seconds_ = 0;

    std::mutex lock_;  // guards what follows while a region lasts
    std::vector<Tally> tallies_;
    bool measuring_ = false;
    std::condition_variable stopped_;
    std::thread observer_;  ///< of one region
};

}  // namespace basalt
