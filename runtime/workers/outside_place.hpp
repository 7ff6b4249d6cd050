#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "runtime/execution/parking.hpp"

namespace basalt::detail {

/// Place 0. It belongs to an outside thread that waits or helps, and to a stand-in thread where none does but tasks are
/// there. Threads that want it and find it taken wait here.
class OutsidePlace {
  public:
    /// `awaited`: what sleepers that wait for everything wait for, see ParkingLot::Sleeper.
    OutsidePlace(ParkingLot& parking, const void* awaited) : parking_(parking), awaited_(awaited) {}

    bool try_take() { return !taken_.exchange(true, std::memory_order_acquire); }
    void leave() {
        taken_.store(false, std::memory_order_release);
        notify_waiters();
    }
    /// Another thread works the place: asks for it, and returns when something may have changed.
    void wait_for_change();
    /// Whether outside threads want the stand-in to work the place.
    bool needs_stand_in() const { return timed_waiters_.load(std::memory_order_relaxed) > 0; }
    /// Whether outside threads ask for the place.
    bool wanted() const { return waiters_.load(std::memory_order_relaxed) > 0; }
    /// Nothing is in flight, or the place is free: tells the threads that wait for that.
    void notify_waiters() {
        const int waiting = waiters_.load(std::memory_order_seq_cst) + timed_waiters_.load(std::memory_order_seq_cst);
        if (waiting > 0) notify_all();
    }

    /// A thread that must not begin a task of unknown length: the stand-in works the place for it, at once. Returns
    /// when done() holds, or at the deadline.
    void leave_to_stand_in(const std::function<bool()>& done, std::chrono::steady_clock::time_point deadline);

    /// The stand-in, on its own thread: sleeps until woken() holds; looks at it when called.
    void park_stand_in(const std::function<bool()>& woken);
    /// The stand-in: sleeps for a while, or until `stop` holds.
    void rest_stand_in(std::chrono::milliseconds period, const std::function<bool()>& stop);
    /// The stand-in works the place, which it has taken, and leaves it.
    void work_as_stand_in(const std::function<void()>& work);
    bool stand_in_works() const { return stand_in_works_.load(std::memory_order_relaxed); }
    /// A task was pushed, behind a full fence: the stand-in either sees the task or is seen here.
    void call_stand_in() {
        if (stand_in_parked_.load(std::memory_order_relaxed)) notify_all();
    }
    void notify_all();

  private:
    ParkingLot& parking_;
    const void* const awaited_;
    std::atomic<bool> taken_{false};
    std::atomic<int> waiters_{0};        ///< outside threads that want the place
    std::atomic<int> timed_waiters_{0};  ///< outside threads that leave the place to the stand-in
    std::mutex lock_;                    ///< with the condition: the place was left, or all is quiet
    std::condition_variable changed_;
    std::atomic<bool> stand_in_parked_{false};
    std::atomic<bool> stand_in_works_{false};
};

}  // namespace basalt::detail
