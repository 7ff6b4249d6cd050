#pragma once

#include <chrono>
#include <ctime>
#include <thread>

namespace bench {

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Duration of a measurement: seconds by the clock, and processor seconds of this process, which hardly depend on the
/// load of the machine.
struct Times {
    double wall;
    double cpu;
};

class Stopwatch {
  public:
    Times elapsed() const { return {now() - wall_, cpu_seconds() - cpu_}; }

  private:
    static double cpu_seconds() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }

    double wall_ = now();
    double cpu_ = cpu_seconds();
};

/// Waits until the threads of the contestant that was timed last have gone to sleep: they poll for a while, OpenBLAS's
/// for tens of milliseconds, and would share the cores with the next contestant.
inline void let_others_rest(std::chrono::milliseconds time = std::chrono::milliseconds(60)) {
    std::this_thread::sleep_for(time);
}

}  // namespace bench
