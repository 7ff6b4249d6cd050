#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "basalt/runtime.hpp"

namespace basalt_tests {

/// An element of the data that random graphs work on. `guard` counts who is using it (see guard.hpp); it lies
/// beside the value so that it moves with the memory when the runtime renames a datum.
struct Cell {
    std::uint64_t value;
    std::uint32_t guard;
};

enum class DatumKind {
    owned,        ///< an Array of the runtime's: may be renamed
    wrapped,      ///< an Array around the test's memory
    owned_plane,  ///< two dimensions, the runtime's memory
    plane,        ///< two dimensions, the test's memory
};

struct DatumSpec {
    DatumKind kind;
    basalt::Index rows;
    std::int32_t cols;  ///< 1 unless it is a plane
};

struct AccessSpec {
    int datum;
    basalt::Index row_begin, row_end;
    std::int32_t col_begin, col_end;
    basalt::AccessMode mode;
};

struct TaskSpec {
    int id = 0;
    int depth = 0;  ///< 0 for the tasks of the program, 1 for their children
    int priority = 0;
    basalt::Threads threads;
    bool as_list = false;  ///< submitted with an AccessList, its kernel without views
    std::vector<AccessSpec> accesses;

    int local_steps = 0;  ///< tasks on an Array that lives inside this task
    std::vector<TaskSpec> children;
    std::vector<bool> waits_after;  ///< a wait() inside the task behind the child of the same index
    bool works_again = false;       ///< waits for all children, then works on its data a second time
    bool catches = false;           ///< goes on when a wait() for children throws
    bool throws = false;
    bool cancels = false;  ///< calls Runtime::cancel()
};

/// A random program. Thread t of `threads` submits its tasks in order; datum d is thread d % threads' alone,
/// except the last one when there are several threads: all use it, with commute.
struct Program {
    std::vector<DatumSpec> data;
    std::vector<TaskSpec> tasks;  ///< in serial order
    std::vector<int> thread_of;   ///< of each task
    std::vector<int> looks_at;    ///< of each task: the datum whose contents are compared behind it, or -1
    int threads = 1;
    int all_tasks = 0;       ///< with children and theirs
    int cancel_before = -1;  ///< cancel() is called before the task of this index is submitted
    bool throws = false;     ///< some task throws, so contents are unspecified
    bool cancels = false;
    bool waits_in_threads = false;
};

/// Whether the runtime may give a task that overwrites the datum fresh memory, so that older users do not
/// matter.
inline bool may_be_renamed(const DatumSpec& datum) {
    return datum.kind == DatumKind::owned || datum.kind == DatumKind::owned_plane;
}

inline bool overlap(const AccessSpec& a, const AccessSpec& b) {
    return a.datum == b.datum && std::max(a.row_begin, b.row_begin) < std::min(a.row_end, b.row_end) &&
           std::max(a.col_begin, b.col_begin) < std::min(a.col_end, b.col_end);
}

}  // namespace basalt_tests
