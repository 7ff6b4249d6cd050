#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/task_pool.hpp"

namespace basalt::detail {

/// A place where one thread at a time runs tasks. Only that thread touches the members, but for `completed`.
struct alignas(64) Worker {
    explicit Worker(int place, int package = 0) : place(place), package(package) {}

    const int place;
    const int package;  ///< the socket of its core; 0 for all where threads are not bound
    SlotCache cache;
    std::vector<Task*> released;   ///< successors set free by the task that just finished, scratch
    int level = -1;                ///< nesting level of the task it runs innermost; -1 outside tasks
    bool searching = false;        ///< found nothing when it last looked for work
    int gangs = 0;                 ///< running gangs that the thread is a member of
    std::vector<Task*> set_aside;  ///< scratch of find_work()

    /// Tasks of level 0 that finished here: written by this place, summed up by whoever asks.
    alignas(64) std::atomic<std::uint64_t> completed{0};
};

}  // namespace basalt::detail
