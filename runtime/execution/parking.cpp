#include "runtime/execution/parking.hpp"

#include <algorithm>
#include <limits>

namespace basalt::detail {

void ParkingLot::announce(Sleeper& sleeper) {
    const std::lock_guard guard(lock_);
    sleeper.woken = false;
    sleepers_.push_back(&sleeper);
    parked_.store(static_cast<int>(sleepers_.size()), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // see the class comment
}

void ParkingLot::leave(Sleeper& sleeper) {
    const std::lock_guard guard(lock_);
    std::erase(sleepers_, &sleeper);
    parked_.store(static_cast<int>(sleepers_.size()), std::memory_order_relaxed);
}

bool ParkingLot::sleep(Sleeper& sleeper, Deadline deadline) {
    std::unique_lock guard(lock_);
    if (!deadline) {
        sleeper.wake.wait(guard, [&] { return sleeper.woken; });
    } else if (!sleeper.wake.wait_until(guard, *deadline, [&] { return sleeper.woken; })) {
        std::erase(sleepers_, &sleeper);
        parked_.store(static_cast<int>(sleepers_.size()), std::memory_order_relaxed);
    }
    return sleeper.woken;
}

template <class Predicate>
void ParkingLot::wake_if(Predicate&& wanted, int count) {
    const std::lock_guard guard(lock_);
    // the newest sleeper first: its core's caches are warmest
    for (auto i = static_cast<std::ptrdiff_t>(sleepers_.size()) - 1; i >= 0 && count > 0; --i) {
        Sleeper& sleeper = *sleepers_[static_cast<std::size_t>(i)];
        if (!wanted(sleeper)) continue;
        sleeper.woken = true;
        sleeper.wake.notify_one();  // under the lock: afterwards the sleeper may be gone
        sleepers_.erase(sleepers_.begin() + i);
        --count;
    }
    parked_.store(static_cast<int>(sleepers_.size()), std::memory_order_relaxed);
}

void ParkingLot::wake(int level, int count) {
    wake_if([&](const Sleeper& sleeper) { return sleeper.min_level <= level; }, count);
}

void ParkingLot::wake_joiners(Joiners joiners, int count) {
    wake_if([&](const Sleeper& sleeper) { return joiners == Joiners::all || sleeper.outside_gangs; }, count);
}

void ParkingLot::wake_scope(const void* scope) {
    wake_if([&](const Sleeper& sleeper) { return sleeper.scope == scope; }, std::numeric_limits<int>::max());
}

void ParkingLot::wake_waiting() {
    wake_if([](const Sleeper& sleeper) { return sleeper.scope != nullptr; }, std::numeric_limits<int>::max());
}

void ParkingLot::wake_all() {
    wake_if([](const Sleeper&) { return true; }, std::numeric_limits<int>::max());
}

}  // namespace basalt::detail
