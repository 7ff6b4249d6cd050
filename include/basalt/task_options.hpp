#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "basalt/device.hpp"

namespace basalt {

/// A task's name: a string literal, or an interned copy of any string (kept until the program ends).
class TaskName {
  public:
    // NOLINTNEXTLINE(google-explicit-constructor): TaskOptions{.name = "axpy"} is the point
    consteval TaskName(const char* literal) : text_(literal) {}
    static TaskName intern(std::string_view text);
    constexpr const char* c_str() const { return text_; }

  private:
    struct Interned {};
    constexpr TaskName(const char* text, Interned) : text_(text) {}
    const char* text_;
};

/// Number of threads that run a gang task. All members enter at once.
///
/// min is clamped to the number of workers. The gang waits for min members without a time limit, and for further
/// members, up to max, for the time `patience`. It does not wait for a thread that recently had to share its core with
/// other programs, because every barrier would wait for that thread.
///
/// A gang submitted inside a gang takes the threads that are free, perhaps only one: other members of the outer gang
/// may be waiting at a barrier until the inner one is done.
struct Threads {
    int min = 1;
    int max = 1;
    /// About the time that a sleeping thread takes to wake up.
    std::chrono::microseconds patience{20};
};

/// Up to three indices of what a task works on, such as a tile's row and column. They are not negative.
class TileIndex {
  public:
    constexpr TileIndex() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): TaskOptions{.tile = {k, j}} is the point
    constexpr TileIndex(int first) : indices_{first, absent, absent} {}
    constexpr TileIndex(int first, int second) : indices_{first, second, absent} {}
    constexpr TileIndex(int first, int second, int third) : indices_{first, second, third} {}

    /// "3,5"; empty if there are none.
    std::string text() const;

  private:
    static constexpr int absent = -1;  // smaller than std::optional: every task holds one
    std::array<int, 3> indices_{absent, absent, absent};
};

struct TaskOptions {
    TaskName name = "task";
    /// Among ready tasks of one nesting level, those of larger priority run first; that of a Graph is added, also to
    /// the children of its tasks. Tasks of different levels are not compared: what is nested deeper runs first,
    /// whatever its priority, so that what was begun is finished before more is begun (from level 15 on, levels count
    /// as one). With several workers each goes by the tasks in its own queue, and others' when that is empty. On a GPU,
    /// tasks above 0 also use streams of high priority.
    int priority = 0;
    /// More than one makes the task a gang, on CPU cores: its kernel takes a Team first.
    Threads threads = {};
    /// Shown in traces and errors.
    TileIndex tile = {};
    /// Step of the algorithm, shown in traces.
    std::optional<int> step = std::nullopt;
    /// Where it runs. A task submitted inside another one runs on the cores.
    Place place = Place::any();
    /// For gangs whose data come from GPUs and return to them. The members are workers of the socket that is nearest to
    /// the host memory which GPUs copy to and from. If that socket has too few workers, they are of the leader's
    /// socket.
    bool near_pinned_memory = false;
    /// How much there is to do, in any unit, such as operations. Policies learn the times of tasks by name and size.
    /// Empty: the bytes of the regions that it accesses.
    std::optional<std::uint64_t> size = std::nullopt;
};

}  // namespace basalt
