#include "base/stack_room.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace basalt::detail {

namespace {

constexpr std::size_t reserve = std::size_t{256} << 10;

/// Below this address the calling thread's stack has less than the reserve; 0 where that is not known.
std::uintptr_t end_of_room() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    void* lowest = nullptr;
    std::size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<std::uintptr_t>(lowest) + std::min(reserve, size / 4) : 0;
}

}  // namespace

bool stack_ends_soon() {
    // asked once: for the main thread the C library reads a file
    thread_local const std::uintptr_t end = end_of_room();
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < end;
}

}  // namespace basalt::detail
