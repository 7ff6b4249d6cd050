#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "basalt/task_handle.hpp"
#include "basalt/task_options.hpp"
#include "base/host_memory.hpp"
#include "runtime/graph/recorded_frame.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// A recorded task as the cores run it again and again: all that they need of it, on one line, which no run writes.
struct alignas(64) RecordedNode {
    std::uint32_t task = 0;  ///< its number in program order
    std::uint32_t first_successor = 0;
    std::uint32_t successors = 0;
    const KernelOps* ops = nullptr;  ///< nullptr: it stands for many readers, and does nothing
    void* kernel = nullptr;
    const char* name = "";
    TileIndex tile{};
    PackedStep step{};
    std::uint32_t first_access = 0;  ///< in RecordedGraph::data_in_order
    std::uint32_t rank = 0;          ///< of its priority among those of the recording: 0 is the lowest
};
static_assert(sizeof(RecordedNode) == 64);

/// An access of a recorded task. Which datum it means is known when the recording runs.
struct RecordedAccess {
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end;
    std::uint32_t datum;  ///< its number in the recording
    AccessMode mode;

    /// Whether it names no element: the kernel's argument is null then, whatever the datum.
    bool empty() const { return row_begin == row_end || col_begin == col_end; }
};

/// By how many bytes a datum's memory lies behind that of its recording. The two are different arrays.
inline std::ptrdiff_t shift_of(const void* recorded, const void* now) {
    return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(now) -
                                       reinterpret_cast<std::uintptr_t>(recorded));
}

/// A datum as the program recorded it.
struct RecordedDatum {
    const Datum* datum;
    std::uint32_t generation;
    std::string name;
    Index rows;
    std::int32_t cols;
    Index ld;         ///< as in Datum
    bool by_columns;  ///< as in Datum
    std::size_t element_size;
};

/// How a run uses a region of a datum, all tasks taken together.
struct RecordedUse {
    std::uint32_t datum;
    bool writes;
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end;
};

/// The memory of the closures of recorded tasks, each on cache lines of its own. That of many is on huge pages: runs
/// come by in an order of their own.
class ClosureArena {
  public:
    ClosureArena() = default;
    ClosureArena(const ClosureArena&) = delete;
    ClosureArena& operator=(const ClosureArena&) = delete;
    ~ClosureArena() { clear(); }

    /// Makes the closure there. Throws what making it throws, and std::bad_alloc.
    void* make(const KernelOps& ops, void* source, void* const* bases);
    /// Takes a closure that moves as bytes out of another arena. Throws std::bad_alloc.
    void* take(const KernelOps& ops, const void* closure);
    /// Destroys the closures and gives back the memory. Those that were taken have nothing to destroy.
    void clear();

  private:
    struct Closure {
        const KernelOps* ops;
        void* storage;
    };
    void* room_for(std::size_t bytes, std::size_t align);

    std::vector<HostBuffer> chunks_;
    std::byte* free_ = nullptr;
    std::size_t left_ = 0;
    std::size_t next_chunk_ = std::size_t{1} << 14;  ///< bytes; doubles up to largest_chunk
    std::vector<Closure> to_destroy_;
};

/// What was recorded: tasks, their data, and the edges between them. Tasks are numbered in program order. Their nodes
/// lie in the order in which one worker would run them, so that the next one is mostly in the next cache line; some
/// nodes stand for many readers and are no task's.
struct RecordedGraph {
    /// Of a task as it was submitted, in program order.
    struct Submitted {
        TaskOptions options;
        const KernelOps* ops;
        void* kernel;
        std::size_t first_access;
        std::uint32_t accesses;
        std::size_t first_followed;
        std::uint32_t followed;  ///< tasks that it follows by after()
    };
    std::vector<RecordedDatum> data;
    std::vector<RecordedUse> uses;
    std::vector<Submitted> tasks;
    std::vector<RecordedAccess> accesses;         ///< of all tasks, one behind the other
    std::vector<std::uint32_t> followed;          ///< by after(), of all tasks; their numbers
    TaskHandle some_handle;                       ///< where some task is followed: leads to the runtime
    std::vector<std::uint32_t> data_of_accesses;  ///< the same, but data.size() for those without elements
    std::vector<std::byte*> bases;  ///< of the data: where the closures' arguments pointed to when recorded

    HostBuffer memory_of_nodes;  ///< on huge pages where there are many
    RecordedNode* nodes = nullptr;
    std::vector<const std::byte*> kernels;  ///< of all nodes: small enough to stay in a cache
    std::uint32_t node_count = 0;
    std::uint32_t ranks = 1;
    std::vector<std::uint32_t> predecessor_counts;
    std::vector<std::uint32_t> data_in_order;  ///< data_of_accesses, which is empty then, in the order of the nodes
    std::vector<std::uint32_t> successors;     ///< of all nodes, the one to run last first
    std::vector<std::uint32_t> roots;          ///< nodes without predecessors, in the same order
    int priority = 0;                          ///< the highest
    bool on_cores = true;                      ///< no task may run on a GPU or as a gang

    ClosureArena closures;           ///< as they were submitted
    ClosureArena closures_in_order;  ///< those that move as bytes, in the order of the nodes
};

}  // namespace basalt::detail
