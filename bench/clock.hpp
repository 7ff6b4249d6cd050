#pragma once

#include <chrono>
#include <thread>

namespace bench {

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Threads of whoever was timed last poll for a while, OpenBLAS's for tens of milliseconds: whoever is timed
/// next would share its cores with them.
inline void let_others_rest(std::chrono::milliseconds time = std::chrono::milliseconds(60)) {
    std::this_thread::sleep_for(time);
}

}  // namespace bench
