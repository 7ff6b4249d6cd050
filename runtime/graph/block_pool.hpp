#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/prefetch.hpp"
#include "base/spin_lock.hpp"

namespace basalt::detail {

/// A thread's private stock of free blocks, by size.
struct BlockCache {
    static constexpr std::size_t sizes = 5;
    static constexpr std::size_t batch = 32;
    struct Stock {
        std::array<void*, 2 * batch> blocks;
        std::size_t count = 0;
    };
    std::array<Stock, sizes> stocks;
};

/// Memory for what does not fit into a task's slot: its accesses and its kernel. One thread submits a task and another
/// one completes it, which costs a general allocator a lock on both sides. Here threads take and return blocks through
/// caches of their own; batches move between a cache and the shared stock under a lock, once in 32 blocks. Blocks go
/// back to the system when the pool is destroyed.
class BlockPool {
  public:
    /// Throws std::bad_alloc. What is large or needs more than a cache line's alignment comes from the system.
    void* take(BlockCache& cache, std::size_t bytes, std::size_t align = alignof(std::max_align_t)) {
        const std::size_t size = size_for(bytes, align);
        if (size == BlockCache::sizes) return from_system(bytes, align);
        BlockCache::Stock& stock = cache.stocks[size];
        if (stock.count == 0) refill(stock, size);
        void* block = stock.blocks[--stock.count];
        // the block after next may last have been used on another core
        if (stock.count >= ahead) prefetch_to_write(stock.blocks[stock.count - ahead]);
        return block;
    }
    /// With the arguments that it was taken with.
    void give_back(BlockCache& cache, void* block, std::size_t bytes, std::size_t align = alignof(std::max_align_t)) {
        const std::size_t size = size_for(bytes, align);
        if (size == BlockCache::sizes) return to_system(block, align);
        BlockCache::Stock& stock = cache.stocks[size];
        if (stock.count == stock.blocks.size()) spill(stock, size);
        stock.blocks[stock.count++] = block;
    }

  private:
    static constexpr std::size_t ahead = 2;
    static constexpr std::size_t line = 64;
    static constexpr std::array<std::size_t, BlockCache::sizes> bytes_of_size{256, 512, 1024, 2048, 4096};

    /// The smallest size that holds as much; BlockCache::sizes where none does.
    static std::size_t size_for(std::size_t bytes, std::size_t align) {
        if (align > line) return BlockCache::sizes;
        std::size_t size = 0;
        while (size < BlockCache::sizes && bytes_of_size[size] < bytes) ++size;
        return size;
    }
    static void* from_system(std::size_t bytes, std::size_t align);
    static void to_system(void* block, std::size_t align);
    void refill(BlockCache::Stock& stock, std::size_t size);
    void spill(BlockCache::Stock& stock, std::size_t size);
    void grow(std::size_t size);

    struct LineAligned {
        void operator()(std::byte* memory) const;
    };
    SpinLock lock_;  // guards what follows
    std::array<std::vector<void*>, BlockCache::sizes> free_;
    std::array<std::size_t, BlockCache::sizes> blocks_{};  ///< that there are
    std::vector<std::unique_ptr<std::byte[], LineAligned>> chunks_;
};

}  // namespace basalt::detail
