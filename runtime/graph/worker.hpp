#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/graph/task_pool.hpp"

namespace basalt::detail {

/// A place where one thread at a time runs tasks, or a spare thread. Only that thread touches the members, but for the
/// atomics.
struct alignas(64) Worker {
    enum class Post : std::uint8_t {
        place,   ///< runs tasks
        driver,  ///< feeds a device
        spare,   ///< runs tasks at the place that all spare threads share
    };
    explicit Worker(int place, int package, Post post = Post::place) : Worker(place, package, post, place) {}
    Worker(int place, int package, Post post, int number)
        : post(post), place(place), package(package), number(number) {}

    const Post post;
    const int place;
    const int package;  ///< the socket of its core; 0 for all where threads are not bound
    const int number;   ///< no other thread that runs tasks has it, see worker()
    SlotCache cache;
    std::vector<Task*> released;   ///< successors set free by the task that just finished, scratch
    bool searching = false;        ///< found nothing when it last looked for work
    int gangs = 0;                 ///< running gangs that the thread is a member of
    std::vector<Task*> set_aside;  ///< scratch of ReadyTasks::pop()
    /// Time that observed tasks took inside the one that runs, which waits for them or for others.
    std::int64_t inside_ns = 0;
    /// Until when its thread counts as late, in nanoseconds of the steady clock: it lately lost its core to other
    /// threads for a considerable part of the time. Written by this place. Leaders of gangs read it to estimate who
    /// will come, and nothing else depends on it: relaxed suffices.
    std::atomic<std::int64_t> late_until{0};
    /// Whether it was late when it last looked, however long ago.
    bool counts_as_late() const { return late_until.load(std::memory_order_relaxed) != 0; }

    /// Kernels that began or, if they are observed, ended here, and the name of the task that runs, which lives as long
    /// as the program; nullptr between tasks. Written by this place, read by threads that wait, for messages only:
    /// relaxed suffices.
    std::atomic<std::uint64_t> kernels{0};
    std::atomic<const char*> running{nullptr};
    /// Of the observed task that runs, and when it began; a gang's is its leader's. As above.
    std::atomic<std::uint64_t> running_task{packed(TaskRef{})};
    std::atomic<std::int64_t> running_since{0};

    /// Tasks of level 0 that finished here: written by this place, read by all.
    alignas(64) std::atomic<std::uint64_t> completed{0};
};

}  // namespace basalt::detail
