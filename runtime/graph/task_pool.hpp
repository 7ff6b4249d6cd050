#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/prefetch.hpp"
#include "base/spin_lock.hpp"
#include "runtime/graph/block_pool.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// A thread's private stock of free slots, and of blocks for what does not fit into one.
struct SlotCache {
    static constexpr std::size_t batch = 64;
    std::array<std::uint32_t, 2 * batch> slots;
    std::size_t count = 0;
    BlockCache blocks;
};

/// Slots for tasks and relays, in chunks that stay mapped until the pool is destroyed.
///
/// A slot's address follows from its number by one look-up. Threads take and return slots through caches of
/// their own; batches move between a cache and the shared stock under a lock, once in 64 slots.
class TaskPool {
  public:
    static constexpr std::uint32_t chunk_slots = 512;
    static constexpr std::uint32_t max_slots = 1U << 24;  // an edge has 24 bits for its slot

    TaskPool();
    ~TaskPool();
    TaskPool(const TaskPool&) = delete;
    TaskPool& operator=(const TaskPool&) = delete;

    /// A slot in the state its last tenant left it in. Throws std::bad_alloc when memory or numbers run out.
    Task& take(SlotCache& cache) {
        if (cache.count == 0) refill(cache);
        --cache.count;
        // The slot that is taken `ahead` tasks later may last have been used on another core: have its lines on the
        // way.
        if (cache.count >= ahead) {
            const auto* soon = reinterpret_cast<const char*>(&at(cache.slots[cache.count - ahead]));
            for (std::size_t line = 0; line < sizeof(Task) / 64; ++line) prefetch_to_write(soon + 64 * line);
        }
        return at(cache.slots[cache.count]);
    }

    void give_back(SlotCache& cache, std::uint32_t slot) {
        if (cache.count == cache.slots.size()) spill(cache);
        cache.slots[cache.count++] = slot;
    }

    /// Room for the task's accesses, whose number is set.
    void make_room_for_accesses(SlotCache& cache, Task& task) {
        if (task.access_count <= Task::inline_accesses) return;
        void* room = blocks_.take(cache.blocks, task.access_count * sizeof(BoundAccess));
        task.more_accesses = ::new (room) BoundAccess[task.access_count];
    }
    void give_back_accesses(SlotCache& cache, Task& task) {
        if (task.more_accesses == nullptr) return;
        blocks_.give_back(cache.blocks, task.more_accesses, task.access_count * sizeof(BoundAccess));
    }

    /// Where a kernel that does not fit into the task is to be made from `source`; with ops set.
    void* make_room_for_kernel(SlotCache& cache, Task& task, const void* source) {
        const KernelOps& ops = *task.ops;
        const std::size_t bytes = ops.size_with_room(source);
        void* room = blocks_.take(cache.blocks, bytes, ops.align);
        ::new (task.kernel.data()) Task::KernelBlock{room, bytes};
        task.kernel_in_block = true;
        return room;
    }
    /// Destroys what the task's kernel captured. The task has no kernel afterwards.
    void destroy_kernel(SlotCache& cache, Task& task) {
        if (task.ops == nullptr) return;
        if (task.ops->destroy != nullptr) task.ops->destroy(task.kernel_storage());
        forget_kernel(cache, task);
    }
    /// The kernel's room is free: nothing was made there, or it was destroyed.
    void forget_kernel(SlotCache& cache, Task& task) {
        if (task.kernel_in_block) {
            const Task::KernelBlock block = task.kernel_block();
            blocks_.give_back(cache.blocks, block.memory, block.bytes, task.ops->align);
            task.kernel_in_block = false;
        }
        task.ops = nullptr;
    }

    /// Gives back the relays of a task, from the newest on.
    void give_back_relays(SlotCache& cache, std::uint32_t relay) {
        while (relay != TaskRef::none) {
            const std::uint32_t previous = relay_at(relay).previous;
            give_back(cache, relay);
            relay = previous;
        }
    }

    Task& at(std::uint32_t slot) const {
        // relaxed: a thread that knows the slot's number got it through a synchronizing operation after the chunk
        // was published
        Task* chunk = chunks_[slot / chunk_slots].load(std::memory_order_relaxed);
        return chunk[slot % chunk_slots];
    }

    /// The relay in a slot. It lies behind the slot's first line, whose generation must outlive it.
    Relay& relay_at(std::uint32_t slot) const {
        return *std::launder(reinterpret_cast<Relay*>(reinterpret_cast<std::byte*>(&at(slot)) + 64));
    }

    /// The task is about to run: has its first successor's line on its way, which completing it will write.
    void prefetch_successor(const Task& task) const {
        const auto edge = static_cast<std::uint32_t>(task.successors.load(std::memory_order_relaxed));
        if (edge != Task::no_edge) prefetch_to_write(&at(edge >> 8));
    }

    static constexpr std::uint32_t edge(std::uint32_t slot, std::uint32_t index) { return slot << 8 | index; }
    /// The edge behind `edge` on its list, and in `target` the task that `edge` leads to.
    std::uint32_t next_edge(std::uint32_t edge, Task*& target) const {
        target = &at(edge >> 8);
        prefetch_to_write(target);  // the one look-up brings the line, which the caller writes
        const std::uint32_t index = edge & 0xff & ~spreads_failure;
        if (target->kind != TaskKind::relay) return target->next_edge[index];
        const Relay& relay = relay_at(edge >> 8);
        target = &at(relay.target);
        return relay.next_edge[index];
    }
    /// Of an edge: if the predecessor fails, the successor does not run. Hazards do not need it: failures spread along
    /// data.
    static constexpr std::uint32_t spreads_failure = 0x80;
    static_assert(Relay::edges <= spreads_failure);

  private:
    static constexpr std::size_t ahead = 8;

    void refill(SlotCache& cache);
    void spill(SlotCache& cache);
    void grow();

    BlockPool blocks_;
    std::unique_ptr<std::atomic<Task*>[]> chunks_;
    SpinLock lock_;  // guards the two below
    std::vector<std::uint32_t> free_;
    std::uint32_t slots_ = 0;
};

}  // namespace basalt::detail
