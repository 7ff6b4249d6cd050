#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "basalt/runtime.hpp"

namespace basalt_tests {

/// An element of the data that random graphs work on. `guard` counts who is using it (see guard.hpp); it lies
/// next to the value, so that it moves with the memory when the runtime renames a datum.
struct Cell {
    std::uint64_t value;
    std::uint32_t guard;
};

enum class DatumKind {
    owned,        ///< an Array of the runtime's: may be renamed
    wrapped,      ///< an Array around the test's memory
    owned_plane,  ///< two dimensions, the runtime's memory
    plane,        ///< two dimensions, the test's memory
    // on devices only:
    column,   ///< two dimensions, like a tile column of a matrix of the runtime's
    scratch,  ///< two dimensions; a writer of some rows declares the other rows dead
};

struct DatumSpec {
    DatumKind kind;
    basalt::Index rows;
    std::int32_t cols;  ///< 1 unless it has two dimensions

    std::size_t bytes() const { return sizeof(Cell) * static_cast<std::size_t>(rows * cols); }
};

/// What a reduce access does to the elements. All have the identity 0.
enum class Combine : std::uint8_t { add, exclusive_or, add_in_order };

struct AccessSpec {
    int datum;
    basalt::Index row_begin, row_end;
    std::int32_t col_begin, col_end;
    basalt::AccessMode mode;
    Combine combine = Combine::add;  ///< of reduce accesses
};

struct TaskSpec {
    int id = 0;
    int depth = 0;  ///< 0 for the tasks of the program, 1 for their children
    int graph = 0;  ///< of the program's graphs, for tasks of depth 0
    int priority = 0;
    basalt::Threads threads;
    bool as_list = false;              ///< submitted with an AccessList, its kernel without views
    std::vector<AccessSpec> accesses;  ///< reduce accesses first

    basalt::Place place = basalt::Place::any();
    bool on_cpu = true;   ///< has a kernel for the cores
    bool on_gpu = false;  ///< has a kernel for GPUs

    int local_steps = 0;  ///< tasks on an Array that lives inside this task
    std::vector<TaskSpec> children;
    std::vector<bool> waits_after;  ///< a wait() inside the task behind the child of the same index
    bool works_again = false;       ///< waits for all children, then works on its data a second time
    bool catches = false;           ///< goes on when a wait() for children throws
    bool throws = false;
    bool cancels = false;  ///< cancels the graph that it is in
};

/// What the program does between two tasks.
struct Errand {
    enum Kind {
        look,       ///< compares the contents of the datum
        renew,      ///< destroys the datum, perhaps in use, and creates it again
        prefetch,   ///< to `place`
        broadcast,  ///< to all GPUs
        fetch,      ///< copies `from` out of the host's memory to a region of the datum, `to`, on `place`
        leave,      ///< the datum gives up its memory on `place`
        wait,
    };
    Kind kind;
    int datum = -1;
    basalt::Place place = basalt::Place::cpu();
    AccessSpec from{};
    AccessSpec to{};
};

/// A random program. Graph 0 is the runtime's own, and each task belongs to some graph. Thread t of `threads` submits
/// its tasks in order; datum d is thread d % threads' alone, except the last one when there are several threads: all
/// use it, with commute, or reduce by adding.
struct Program {
    std::vector<DatumSpec> data;
    std::vector<TaskSpec> tasks;               ///< in serial order
    std::vector<int> thread_of;                ///< of each task
    std::vector<std::vector<Errand>> errands;  ///< behind each task
    int threads = 1;
    int graphs = 1;
    int all_tasks = 0;       ///< with children and theirs
    int cancel_before = -1;  ///< its graph is cancelled before the task of this index is submitted
    bool fails = false;      ///< some task throws, or a graph is cancelled
    bool waits_in_threads = false;
};

/// Whether the datum's memory is the test's, so that its contents are there when it is given up.
inline bool belongs_to_test(const DatumSpec& datum) {
    return datum.kind == DatumKind::wrapped || datum.kind == DatumKind::plane;
}

/// Bytes that the datum takes up on a device.
inline std::size_t device_bytes(const DatumSpec& datum) {
    constexpr std::size_t unit = 512;  // memory of devices is handed out in such
    return (datum.bytes() + unit - 1) / unit * unit;
}

/// Bytes of all the data that the task uses.
inline std::size_t working_set(const std::vector<DatumSpec>& data, const TaskSpec& task) {
    std::set<int> used;
    std::size_t bytes = 0;
    for (const AccessSpec& a : task.accesses) {
        if (a.row_begin == a.row_end || a.col_begin == a.col_end || !used.insert(a.datum).second) continue;
        bytes += device_bytes(data[static_cast<std::size_t>(a.datum)]);
    }
    return bytes;
}

/// Whether the runtime may give a task that overwrites the datum fresh memory, so that older users do not
/// matter.
inline bool may_be_renamed(const DatumSpec& datum) {
    return datum.kind == DatumKind::owned || datum.kind == DatumKind::owned_plane;
}

/// Accesses of a task that are reduce: at most this many.
inline constexpr std::size_t most_reductions = 2;
inline std::size_t reductions_of(const TaskSpec& task) {
    return static_cast<std::size_t>(std::count_if(task.accesses.begin(), task.accesses.end(), [](const AccessSpec& a) {
        return a.mode == basalt::AccessMode::reduce;
    }));
}

inline bool overlap(const AccessSpec& a, const AccessSpec& b) {
    return a.datum == b.datum && std::max(a.row_begin, b.row_begin) < std::min(a.row_end, b.row_end) &&
           std::max(a.col_begin, b.col_begin) < std::min(a.col_end, b.col_end);
}

}  // namespace basalt_tests
