#pragma once

#include <algorithm>
#include <vector>

#include "basalt/array.hpp"
#include "runtime/engine.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// `count` blocks of `size` elements in the host's memory that tasks on cores access, each one datum. Their contents
/// are undefined at first: the memory is the runtime's, which keeps it for the next one, since the first touch of new
/// memory takes longer than computing with it.
template <class T>
class HostBlocks {
  public:
    HostBlocks() = default;
    HostBlocks(Runtime& runtime, Index count, Index size, const char* name)
        : size_(aligned(std::max<Index>(size, 1))),
          memory_(runtime.engine().workspaces(), static_cast<std::size_t>(count * size_) * sizeof(T)) {
        for (Index b = 0; b < count; ++b) {
            data_.emplace_back(runtime.engine(),
                               create_datum(runtime.engine(), static_cast<T*>(memory_.data()) + b * size_, sizeof(T), 1,
                                            1, Storage::pinned, name));
        }
    }

    /// Block b, as an array of the elements asked for.
    Region<T> block(Index b) const {
        return {data_[static_cast<std::size_t>(b)].get(), 0, 1, 0, 1, 0, size_, 1, 1, size_};
    }

  private:
    Index size_ = 0;
    PooledBuffer memory_;
    std::vector<DatumHandle> data_;  // after the memory: waited for before it is gone
};

}  // namespace basalt::detail
