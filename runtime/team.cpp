#include "basalt/team.hpp"

#include <thread>

namespace basalt {

namespace {

// About 5 us of polling: longer than a hand-over between two running threads (well under 1 us), shorter
// than the price of two context switches. On a machine with fewer cores than members the thread that is
// waited for is not running, and every spin is stolen from it.
constexpr int spins_before_parking = 2000;

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
}

}  // namespace

std::uint32_t wait_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t old) {
    for (int spin = 0; spin < spins_before_parking; ++spin) {
        // acquire: pairs with the release of whoever changed the word
        const std::uint32_t now = word.load(std::memory_order_acquire);
        if (now != old) return now;
        relax();
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
    return word.load(std::memory_order_acquire);
}

void TeamBarrier::wait() {
    if (size_ == 1) return;
    // relaxed: a member's round cannot advance before this member arrives
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    // acq_rel: the last arrival gathers what all others wrote (acquire) and every arrival publishes (release)
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
        // relaxed: ordered before the release of round_, which every member acquires before arriving again
        arrived_.store(0, std::memory_order_relaxed);
        round_.store(round + 1, std::memory_order_release);
        round_.notify_all();
    } else {
        wait_while_equal(round_, round);
    }
}

}  // namespace basalt
