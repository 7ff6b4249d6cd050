#pragma once

#include <atomic>
#include <thread>

namespace basalt::detail {

inline void cpu_relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
}

/// A lock for sections of a few dozen instructions. After a bounded spin it yields, so that a holder that
/// lost its core gets it back.
class SpinLock {
  public:
    void lock() {
        // acquire: what the last holder wrote before unlock() is visible
        while (locked_.exchange(true, std::memory_order_acquire)) {
            for (int spin = 0; locked_.load(std::memory_order_relaxed); ++spin) {
                if (spin < 200) {
                    cpu_relax();
                } else {
                    std::this_thread::yield();
                }
            }
        }
    }
    bool try_lock() {
        return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
    }
    void unlock() { locked_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> locked_{false};
};

}  // namespace basalt::detail
