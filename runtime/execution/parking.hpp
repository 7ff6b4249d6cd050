#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace basalt::detail {

/// When waiting ends at the latest; empty: never.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Who may become a member of a gang.
enum class Joiners : std::uint8_t {
    all,
    outside_gangs,  ///< not the members of a running gang, which wait inside it
};

/// Where idle threads sleep. Each says from which nesting level on it can run tasks.
///
/// Nothing is lost between "found no work" and "sleeps": a thread announces itself first (parked_, with a full
/// fence), then looks for work once more, then sleeps. A thread that adds work publishes it first, then (after a
/// full fence) reads parked_. One of the two sees the other.
class ParkingLot {
  public:
    struct Sleeper {
        int min_level = 0;
        const void* scope = nullptr;  ///< the scope whose end it waits for, if any
        bool outside_gangs = true;    ///< see Joiners
        bool woken = false;
        std::condition_variable wake;
    };

    /// Announces the sleeper; must be followed by sleep() or leave().
    void announce(Sleeper& sleeper);
    void leave(Sleeper& sleeper);
    /// Sleeps until woken (true) or the deadline (false); then the sleeper has left.
    bool sleep(Sleeper& sleeper, Deadline deadline);

    /// Wakes up to `count` sleepers that can run tasks of `level`.
    void wake(int level, int count);
    /// Wakes up to `count` sleepers that may join a gang.
    void wake_joiners(Joiners joiners, int count);
    /// Wakes the threads that wait for something.
    void wake_waiting();
    /// Wakes the threads that wait for the scope's end.
    void wake_scope(const void* scope);
    void wake_all();

    /// To be called after work was published.
    bool anyone_parked() const {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return parked_.load(std::memory_order_relaxed) > 0;
    }

  private:
    template <class Predicate>
    void wake_if(Predicate&& wanted, int count);

    std::mutex lock_;  // guards the list and the sleepers in it
    std::vector<Sleeper*> sleepers_;
    std::atomic<int> parked_{0};
};

}  // namespace basalt::detail
