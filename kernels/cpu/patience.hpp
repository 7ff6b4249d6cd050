#pragma once

#include <chrono>
#include <thread>

namespace basalt {

/// Waits until ready() holds, for what another thread is just about to do: polls, then polls with pauses for some
/// 50 us, then gives its core away again and again, and in the end sleeps in naps. Nobody has to wake it, so whoever
/// makes ready() true pays nothing for it.
///
/// `crowded`: more threads than cores take part. The one waited for is not running then, and every poll would be
/// taken from it.
template <class Ready>
void wait_patiently(const Ready& ready, bool crowded) {
    // A hand-over between two cores takes less time than the pause of some processors.
    constexpr int polls = 200, pauses = 1000, yields = 5000;
    constexpr auto nap = std::chrono::microseconds(50);
    if (!crowded) {
        for (int i = 0; i < polls; ++i) {
            if (ready()) return;
        }
        for (int i = 0; i < pauses; ++i) {
            if (ready()) return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    }
    for (int i = 0; i < yields; ++i) {
        if (ready()) return;
        std::this_thread::yield();
    }
    while (!ready()) std::this_thread::sleep_for(nap);
}

}  // namespace basalt
