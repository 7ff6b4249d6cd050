#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

#include "basalt/runtime.hpp"
#include "basalt/task_handle.hpp"

namespace basalt::detail {

class Scope;
struct DeviceWork;
struct Version;

/// A reference as one number, for atomics.
constexpr std::uint64_t packed(TaskRef task) { return static_cast<std::uint64_t>(task.generation) << 32 | task.slot; }
constexpr TaskRef unpacked(std::uint64_t number) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
}

/// "read", as messages call it.
const char* mode_name(AccessMode mode);

/// Whether a task with this access changes the data.
inline bool writes(AccessMode mode) { return mode != AccessMode::read; }

/// An access as a task keeps it: the record with its datum resolved to the version it was bound to.
struct BoundAccess {
    BoundAccess() = default;
    BoundAccess(Version* version, const AccessRecord& record)
        : version(version),
          row_begin(record.row_begin),
          row_end(record.row_end),
          col_begin(record.col_begin),
          col_end(record.col_end),
          mode(record.mode) {}

    Version* version;
    Index row_begin;
    Index row_end;
    std::int32_t col_begin;
    std::int32_t col_end : 29;  // create_datum() allows no more columns
    AccessMode mode : 3;
};
static_assert(sizeof(BoundAccess) == 32);

enum class TaskKind : std::uint8_t {
    user,      ///< dropped when its graph is cancelled
    recorded,  ///< one of the user's that a recording runs: a RecordedFrame
    internal,  ///< the runtime's own: always runs
    step,      ///< of a coroutine, which tells itself whether its graph was cancelled
    sync,      ///< no kernel: completes as soon as it is released
    signal,    ///< the same, and wakes threads that wait
    relay,     ///< not a task: more incoming edges for another one
};

/// Whether it is a task of the user's.
inline bool is_users(TaskKind kind) { return kind <= TaskKind::recorded; }

/// A step of an algorithm, or none, in the four bytes that a task has for it.
class PackedStep {
  public:
    constexpr PackedStep() = default;
    constexpr explicit PackedStep(std::optional<int> step) : step_(step.value_or(none)) {}
    constexpr std::optional<int> get() const { return step_ == none ? std::nullopt : std::optional<int>(step_); }

  private:
    static constexpr std::int32_t none = -1;
    std::int32_t step_ = none;
};

/// A pooled task. Slots are never unmapped while their engine lives, so that a stale TaskRef can be checked
/// by reading the slot's generation.
///
/// Who owns what: the submitting thread, under its scope's lock, writes everything before the task becomes
/// ready; then the worker that runs it does, until the slot returns to the pool. The atomics are what others
/// touch meanwhile: `successors` by submitters that add edges, `pending` by finishing predecessors, `stamp`
/// and `predecessors` by submitters that look for redundant edges (a torn reading is recognised by the
/// generation and means that the task has completed).
///
/// An edge is a number: slot * 256 + index into next_edge (or a relay's longer array), and a bit that says whether a
/// failure spreads along it (see after()). The list of a task's
/// successors is a stack of edges linked through next_edge, its head in the low half of `successors`; the
/// high half is the generation. Completing exchanges the word for the next generation with an empty stack,
/// which closes the list for threads that still hold the old TaskRef: an edge is never added to a wrong tenant.
///
/// A task that runs on a device lets its successors go in two stages: those on devices when it is enqueued, since
/// they are enqueued behind it, and the others when it has completed. The former complete after it nevertheless: their
/// edges stay on the list until then.
struct alignas(64) Task {
    static constexpr std::uint32_t no_edge = 0xffffffff;
    static constexpr int inline_edges = 6;
    static constexpr int inline_accesses = 3;
    static constexpr int recorded_predecessors = 4;
    static constexpr std::size_t inline_kernel = 176;  // room for six views
    static constexpr std::uint8_t several_nodes = 255;
    /// Of `successors`: the device has the task in its stream, and DeviceWork::ends tells where it ends.
    static constexpr std::uint64_t enqueued = std::uint64_t{1} << 63;

    // -- line 0: dependencies
    std::atomic<std::uint64_t> successors{no_edge};
    std::atomic<std::int32_t> pending{0};
    std::uint32_t slot = 0;
    Scope* scope = nullptr;
    std::int32_t priority = 0;
    TaskKind kind = TaskKind::user;
    bool commutes : 1 = false;
    bool gang : 1 = false;
    bool near_pinned_memory : 1 = false;
    bool has_regions : 1 = false;  ///< of a commuting task: it may run, see CommuteArbiter
    bool has_place : 1 = false;    ///< of a commuting task that may run: place() is set
    std::uint8_t used_edges : 3 = 0;
    std::atomic<std::uint8_t> node{0};      ///< memory node it runs on, or several_nodes
    std::atomic<std::uint8_t> recorded{0};  ///< entries of `predecessors`
    std::array<std::uint32_t, inline_edges> next_edge{};
    std::atomic<std::uint64_t> stamp{0};

    // -- lines 1 to 4: what it does
    const KernelOps* ops = nullptr;
    const char* name = nullptr;
    std::atomic<DeviceWork*> device_work{nullptr};  ///< of a task that runs on a device
    std::atomic<Scope*> children{nullptr};
    BoundAccess* more_accesses = nullptr;  ///< all of them, when they are more than fit inline
    std::uint32_t relay = TaskRef::none;   ///< newest relay, a chain through Relay::previous
    std::uint32_t access_count : 31 = 0;
    std::uint32_t kernel_in_block : 1 = false;  ///< `kernel` holds a KernelBlock
    alignas(8) std::array<std::byte, inline_kernel> kernel{};

    // -- the rest: what it touches, whom it waits for as far as there is room, and what few tasks need
    std::array<BoundAccess, inline_accesses> accesses{};
    std::array<std::atomic<std::uint64_t>, recorded_predecessors> predecessors{};
    TileIndex tile{};
    std::uint16_t min_threads = 1;
    std::uint16_t max_threads = 1;
    PackedStep step{};
    std::uint32_t patience_us = 0;  ///< Threads::patience
    /// Of an entry of `predecessors`: it is waited for in part, so what it waits for itself is not implied.
    static constexpr std::uint64_t in_part = std::uint64_t{1} << 63;

    /// A new tenant of the slot: a task of the scope without accesses, edges and kernel. Relaxed stores: the task is
    /// published later, by the edge lists' CAS or by the scheduler's lock.
    void begin(Scope& its_scope) {
        scope = &its_scope;
        ops = nullptr;
        kind = TaskKind::user;
        commutes = gang = has_regions = has_place = false;
        used_edges = 0;
        recorded.store(0, std::memory_order_relaxed);
        relay = TaskRef::none;
        access_count = 0;
        kernel_in_block = false;
        more_accesses = nullptr;
        step = {};
        children.store(nullptr, std::memory_order_relaxed);
        node.store(0, std::memory_order_relaxed);
        device_work.store(nullptr, std::memory_order_relaxed);
        stamp.store(0, std::memory_order_relaxed);
    }

    static std::uint32_t generation_of(std::uint64_t word) {
        return static_cast<std::uint32_t>((word & ~enqueued) >> 32);
    }
    /// What `successors` is for the slot's next tenant.
    static std::uint64_t after(std::uint64_t word) {
        return ((static_cast<std::uint64_t>(generation_of(word)) + 1) << 32 & ~enqueued) | no_edge;
    }
    /// Pushes an edge onto the list unless the task of that generation has completed: then false. `head`: the list when
    /// it was last looked at (acquire), afterwards as it was just before. `next`: where the edge keeps the one behind
    /// it.
    bool push_edge(std::uint64_t& head, std::uint32_t generation, std::uint32_t edge, std::uint32_t& next) {
        do {
            if (generation_of(head) != generation) return false;
            next = static_cast<std::uint32_t>(head);
            // release: the predecessor's worker must see `next` and everything the successor needs before `pending`
        } while (!successors.compare_exchange_weak(head, (head >> 32) << 32 | edge, std::memory_order_release,
                                                   std::memory_order_acquire));
        return true;
    }
    /// The task has completed: closes the list for its generation, and returns it.
    std::uint64_t close_successors() {
        const std::uint64_t next_tenant = after(successors.load(std::memory_order_relaxed));
        // release: who finds the generation advanced sees what the task wrote; acquire: the edges' contents
        return successors.exchange(next_tenant, std::memory_order_acq_rel);
    }
    /// Takes back `count` of what holds the task; true: nothing does any more.
    bool let_go(std::int32_t count) {
        // acq_rel: the last predecessor passes on what all of them wrote
        return pending.fetch_sub(count, std::memory_order_acq_rel) == count;
    }

    std::uint32_t generation() const { return generation_of(successors.load(std::memory_order_relaxed)); }
    DeviceWork* on_device() const { return device_work.load(std::memory_order_relaxed); }
    TaskRef ref() const { return {slot, generation()}; }
    const BoundAccess* access_begin() const { return more_accesses != nullptr ? more_accesses : accesses.data(); }
    BoundAccess* access_begin() { return more_accesses != nullptr ? more_accesses : accesses.data(); }

    /// The only region on which the task commutes, as the CommuteArbiter knows it. Nothing holds the task back any
    /// more, so its edges are in no list, and their memory is free for this.
    void* place() const {
        void* place = nullptr;
        std::memcpy(&place, next_edge.data(), sizeof(place));
        return place;
    }
    void set_place(void* place) {
        std::memcpy(next_edge.data(), &place, sizeof(place));
        has_place = true;
    }

    /// What `kernel` holds of a kernel that does not fit: the block where it lies.
    struct KernelBlock {
        void* memory;
        std::size_t bytes;
    };
    /// Whether a kernel that takes as many bytes has room in the task itself.
    static bool fits_inline(const KernelOps& ops, std::size_t bytes) {
        return bytes <= inline_kernel && ops.align <= alignof(void*);
    }
    KernelBlock& kernel_block() { return *std::launder(reinterpret_cast<KernelBlock*>(kernel.data())); }
    void* kernel_storage() { return kernel_in_block ? kernel_block().memory : static_cast<void*>(kernel.data()); }
};

/// "update(3,4)": how errors call a task.
std::string task_label(const Task& task);

/// A slot that carries incoming edges of a task with more than fit inside it.
struct Relay {
    static constexpr int edges = 78;  // up to `predecessors`, which other threads may still read

    std::uint32_t target;    ///< slot of the task the edges lead to
    std::uint32_t previous;  ///< next older relay of the same task
    std::array<std::uint32_t, edges> next_edge;
};
static_assert(sizeof(Task) == 448 && 64 + sizeof(Relay) <= offsetof(Task, predecessors));

}  // namespace basalt::detail
