#include "basalt/team.hpp"

#include <thread>

#include "basalt/error.hpp"

namespace basalt {

namespace {

// About 5 us of polling (a pause takes 10 to 40 ns on present machines): longer than a hand-over between two
// running threads (well under 1 us), shorter than two context switches. With fewer cores than members the thread that
// is waited for may need this core, so polling must be short.
constexpr int spins_before_parking = 200;

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
        // acquire: pairs with the release of the thread that changed the word
        const std::uint32_t now = word.load(std::memory_order_acquire);
        if (now != old) return now;
        relax();
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
    return word.load(std::memory_order_acquire);
}

void TeamBarrier::next_round() {
    // relaxed: only the last member of the round gets here; all others wait for round_ and touch nothing
    state_.store(state_.load(std::memory_order_relaxed) & ~(one_member - 1), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
}

void TeamBarrier::wait() {
    // relaxed: a member's round cannot advance before this member arrives
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    if (size_ > 1) {
        // acq_rel: the last arrival gathers what all others wrote (acquire), every arrival publishes (release)
        const std::uint64_t state = state_.fetch_add(1, std::memory_order_acq_rel) + 1;
        if (state / one_member == state % one_member) {
            next_round();
        } else {
            wait_while_equal(round_, round);
        }
    }
    if (poisoned_.load(std::memory_order_acquire)) throw Cancelled("another member of the gang failed");
}

void TeamBarrier::drop() {
    const std::uint64_t state = state_.fetch_sub(one_member, std::memory_order_acq_rel) - one_member;
    const std::uint64_t members = state / one_member;
    if (members > 0 && members == state % one_member) next_round();
}

void TeamBarrier::poison() {
    poisoned_.store(true, std::memory_order_release);
    drop();
}

}  // namespace basalt
