#include "runtime/graph/task_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include <tbb/cache_aligned_allocator.h>

#include "base/process.hpp"

namespace basalt::detail {

namespace {

constinit std::mutex allocation_lock;  // held while oneTBB holds locks, which it does not free in a child process
const HeldDuringForks<allocation_lock> allocation_is_over;

Task* allocate_chunk() {
    const std::lock_guard guard(allocation_lock);
    return tbb::cache_aligned_allocator<Task>().allocate(TaskPool::chunk_slots);
}

}  // namespace

TaskPool::TaskPool() : chunks_(new std::atomic<Task*>[max_slots / chunk_slots]()) {}

TaskPool::~TaskPool() {
    for (std::uint32_t first = 0; first < slots_; first += chunk_slots) {
        tbb::cache_aligned_allocator<Task>().deallocate(chunks_[first / chunk_slots].load(std::memory_order_relaxed),
                                                        chunk_slots);
    }
}

void TaskPool::grow() {
    if (slots_ + chunk_slots > max_slots) throw std::bad_alloc();
    if (slots_ == 0) look_before_exit();
    Task* chunk = allocate_chunk();
    free_.reserve(free_.size() + chunk_slots);
    for (std::uint32_t i = 0; i < chunk_slots; ++i) {
        ::new (&chunk[i]) Task;
        chunk[i].slot = slots_ + i;
    }
    // release is not needed: slot numbers leave this function under lock_
    chunks_[slots_ / chunk_slots].store(chunk, std::memory_order_relaxed);
    for (std::uint32_t i = chunk_slots; i > 0; --i) free_.push_back(slots_ + i - 1);
    slots_ += chunk_slots;
}

void TaskPool::refill(SlotCache& cache) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) grow();
    const std::size_t count = std::min(SlotCache::batch, free_.size());
    std::copy(free_.end() - static_cast<std::ptrdiff_t>(count), free_.end(), cache.slots.begin());
    free_.resize(free_.size() - count);
    cache.count = count;
}

void TaskPool::spill(SlotCache& cache) {
    // The older half goes: the newer slots are the ones still in this core's cache.
    const std::lock_guard guard(lock_);
    free_.insert(free_.end(), cache.slots.begin(), cache.slots.begin() + SlotCache::batch);
    std::copy(cache.slots.begin() + SlotCache::batch, cache.slots.end(), cache.slots.begin());
    cache.count -= SlotCache::batch;
}

}  // namespace basalt::detail
