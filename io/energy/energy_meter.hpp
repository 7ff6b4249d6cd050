#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/energy/energy_counter.hpp"

namespace basalt {

/// The energy that parts of the machine consumed during some time.
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

/// Reads counters at the begin and the end of measured regions, and at regular times in between, so that no counter
/// wraps around twice between two readings. A counter that fails once is not counted any more. Not thread-safe.
class EnergyMeter {
  public:
    explicit EnergyMeter(EnergyCounters counters,
                         std::chrono::milliseconds reading_interval = std::chrono::seconds(30));
    ~EnergyMeter();
    EnergyMeter(const EnergyMeter&) = delete;
    EnergyMeter& operator=(const EnergyMeter&) = delete;

    /// Whether there is any counter.
    bool counts() const { return !tallies_.empty(); }

    /// Begin and end a region. Both read all counters, which takes some microseconds each.
    void start();
    void stop();

    /// The energy of the last region, and of all regions together.
    EnergyReading last() const;
    EnergyReading total() const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Tally {
        EnergyCounter counter;
        std::uint64_t seen = 0;  ///< its value at the last reading
        std::uint64_t region = 0;
        std::uint64_t total = 0;
        std::string failure = {};  ///< why it is not counted; empty: it is
    };

    void read_counters();
    void read_counters_regularly();
    EnergyReading reading(double seconds, std::uint64_t Tally::*energy) const;

    const std::chrono::milliseconds reading_interval_;
    std::vector<UncountedPart> uncounted_;
    Clock::time_point begin_;
    double seconds_ = 0;
    double total_seconds_ = 0;

    std::mutex lock_;  // guards the members below during a region
    std::vector<Tally> tallies_;
    bool measuring_ = false;
    std::condition_variable stopped_;
    std::thread observer_;  ///< runs during a region
};

}  // namespace basalt
