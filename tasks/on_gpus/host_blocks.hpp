#pragma once

#include <algorithm>
#include <vector>

#include "basalt/array.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/on_gpus/scratch_matrix.hpp"

namespace basalt::detail {

/// `count` blocks of `size` elements in the host's memory, each one datum, for tasks on cores. Their contents are
/// undefined at first. The runtime keeps the memory for the next user, since the first touch of new memory takes longer
/// than computing with it.
template <class T>
class HostBlocks {
  public:
    HostBlocks() = default;
    HostBlocks(Runtime& runtime, Index count, Index size, const char* name)
        : size_(aligned(std::max<Index>(size, 1))),
          memory_(workspaces(runtime), static_cast<std::size_t>(count * size_) * sizeof(T)) {
        for (Index b = 0; b < count; ++b) {
            data_.emplace_back(create_datum(runtime, data(b), sizeof(T), 1, 1, Storage::pinned, name));
        }
    }

    /// The memory of block b, which is never renamed.
    T* data(Index b) const { return static_cast<T*>(memory_.data()) + b * size_; }

    /// Block b, as an array.
    Region<T> block(Index b) const {
        const DatumHandle& datum = data_[static_cast<std::size_t>(b)];
        return {datum.get(), datum.generation(), 0, 1, 0, 1, 0, size_, 1, 1, size_};
    }

  private:
    Index size_ = 0;
    PooledBuffer memory_;
    std::vector<DatumHandle> data_;  // after the memory: their destruction waits before the memory goes
};

}  // namespace basalt::detail
