#include "runtime/graph/block_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>

namespace basalt::detail {

void BlockPool::LineAligned::operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{line});
}

void* BlockPool::from_system(std::size_t bytes, std::size_t align) {
    return ::operator new (bytes, std::align_val_t{align});
}

void BlockPool::to_system(void* block, std::size_t align) { ::operator delete (block, std::align_val_t{align}); }

void BlockPool::grow(std::size_t size) {
    constexpr std::size_t chunk_blocks = 128;
    const std::size_t bytes = bytes_of_size[size];
    chunks_.reserve(chunks_.size() + 1);
    // for all that there are: spill() must not fail
    free_[size].reserve(blocks_[size] + chunk_blocks);
    chunks_.emplace_back(static_cast<std::byte*>(::operator new[](chunk_blocks* bytes, std::align_val_t{line})));
    for (std::size_t i = chunk_blocks; i > 0; --i) free_[size].push_back(chunks_.back().get() + (i - 1) * bytes);
    blocks_[size] += chunk_blocks;
}

void BlockPool::refill(BlockCache::Stock& stock, std::size_t size) {
    const std::lock_guard guard(lock_);
    std::vector<void*>& free = free_[size];
    if (free.empty()) grow(size);
    stock.count = std::min(BlockCache::batch, free.size());
    std::copy(free.end() - static_cast<std::ptrdiff_t>(stock.count), free.end(), stock.blocks.begin());
    free.resize(free.size() - stock.count);
}

void BlockPool::spill(BlockCache::Stock& stock, std::size_t size) {
    // the older half goes: the newer blocks are still in this core's cache
    const std::lock_guard guard(lock_);
    const auto middle = stock.blocks.begin() + BlockCache::batch;
    free_[size].insert(free_[size].end(), stock.blocks.begin(), middle);
    std::copy(middle, stock.blocks.end(), stock.blocks.begin());
    stock.count -= BlockCache::batch;
}

}  // namespace basalt::detail
