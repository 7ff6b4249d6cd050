#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace basalt {

/// Whether each thread that takes part has a core to itself.
enum class Cores : std::uint8_t { enough, crowded };

/// Waits until ready() holds, for what another thread is about to do: polls, then polls with pauses, then sleeps in
/// naps. The waiting thread wakes itself, so the thread that makes ready() true pays nothing for it.
///
/// A thread that has not answered after `polling` has most probably lost its core, and every further poll could take
/// from the time that this thread needs to come back: the nap gives the core away and keeps this thread's own share
/// of it for later. A yield would give that share away as well. `polling` is longer than a nap takes: the thread that
/// comes back goes on polling until this one has woken up, and both run at full speed again.
///
/// Where more threads than cores take part, the thread that is waited for is ready to run on this core, and yielding
/// lets it run.
template <class Ready>
void wait_patiently(const Ready& ready, Cores cores) {
    const bool crowded = cores == Cores::crowded;
    using Clock = std::chrono::steady_clock;
    // a hand-over between two cores takes less time than the pause of some processors
    constexpr int polls = 200, pauses_between_looks = 16;
    constexpr auto polling = std::chrono::microseconds(200);
    constexpr auto nap = std::chrono::microseconds(50);  // the system adds about as much
    if (!crowded) {
        for (int i = 0; i < polls; ++i) {
            if (ready()) return;
        }
    }
    const auto deadline = Clock::now() + polling;
    do {
        if (crowded) {
            if (ready()) return;
            std::this_thread::yield();
        } else {
            for (int i = 0; i < pauses_between_looks; ++i) {
                if (ready()) return;
#if defined(__x86_64__)
                __builtin_ia32_pause();
#endif
            }
        }
    } while (Clock::now() < deadline);
    while (!ready()) std::this_thread::sleep_for(nap);
}

}  // namespace basalt
