#include "runtime/workers/outside_place.hpp"

#include <algorithm>

namespace basalt::detail {

void OutsidePlace::notify_all() {
    const std::lock_guard guard(lock_);
    changed_.notify_all();
}

void OutsidePlace::wait_for_change() {
    // The stand-in notices the request when it next looks; the time limit covers the moment between looking and
    // waiting.
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    if (stand_in_works()) parking_.wake_scope(awaited_);
    {
        std::unique_lock guard(lock_);
        changed_.wait_for(guard, std::chrono::milliseconds(1));
    }
    waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

void OutsidePlace::leave_to_stand_in(const std::function<bool()>& done,
                                     std::chrono::steady_clock::time_point deadline) {
    timed_waiters_.fetch_add(1, std::memory_order_seq_cst);  // before the first look at done()
    notify_all();
    while (!done()) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= deadline) break;
        std::unique_lock guard(lock_);
        // the time limit covers the moment between looking and waiting
        changed_.wait_until(guard, std::min(deadline, now + std::chrono::milliseconds(1)));
    }
    timed_waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void OutsidePlace::park_stand_in(const std::function<bool()>& woken) {
    std::unique_lock guard(lock_);
    stand_in_parked_.store(true, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // it is seen parked, or it sees the task; see call_stand_in()
    changed_.wait(guard, woken);
    stand_in_parked_.store(false, std::memory_order_relaxed);
}

void OutsidePlace::rest_stand_in(std::chrono::milliseconds period, const std::function<bool()>& stop) {
    std::unique_lock guard(lock_);
    changed_.wait_for(guard, period, stop);
}

void OutsidePlace::work_as_stand_in(const std::function<void()>& work) {
    stand_in_works_.store(true, std::memory_order_relaxed);
    work();
    stand_in_works_.store(false, std::memory_order_relaxed);
    leave();
}

}  // namespace basalt::detail
