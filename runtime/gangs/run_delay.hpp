#pragma once

#include <cstdint>
#include <optional>

namespace basalt::detail {

/// What the system has counted for one thread since it started.
struct RunCounters {
    std::uint64_t running_ns;  ///< on a core
    std::uint64_t waiting_ns;  ///< runnable, but without a core: other threads had all of them
};

/// The share of the time in which a thread could run and had no core. Old time is forgotten.
class RunDelay {
  public:
    /// Takes in the counters' newest values.
    void update(const RunCounters& now);
    /// Whether the thread lost more than a fifth of its time.
    bool late() const;

  private:
    std::optional<RunCounters> last_;
    double running_ns_ = 0;  // of the time that is not forgotten
    double waiting_ns_ = 0;
};

/// Whether the calling thread lately lost its core to other threads for a considerable part of the time: the members
/// of a gang would wait for it. Takes about 5 us, at most once in 2 ms; the last answer otherwise. False where the
/// system does not count (/proc/thread-self/schedstat of Linux).
bool this_thread_is_late();

/// For tests: what this_thread_is_late() returns on every thread; nullptr: what the system's counters say.
using LatenessSource = bool (*)();
void set_lateness_source(LatenessSource source);

}  // namespace basalt::detail
