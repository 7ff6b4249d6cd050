#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "basalt/array.hpp"
#include "runtime/host_memory.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

/// Buffers in which column-major pieces of a user's array travel to and from GPUs: a few for each GPU, taken in turn.
/// They are kept from one use to the next, since what is pinned or allocated once need not be so again.
class HostStripes {
  public:
    HostStripes(Runtime& runtime, std::size_t element_size) : runtime_(runtime), element_size_(element_size) {}

    /// Makes the buffers hold `elements` each, in the host's memory too where they go `through_host`. One use at a
    /// time: until the lock that it returns is gone. Throws std::bad_alloc, DeviceError.
    [[nodiscard]] std::unique_lock<std::mutex> begin(Index elements, bool through_host);

    /// The next buffer of that GPU as rows x cols elements, column-major and dense.
    template <class T>
    Region<T> next(int gpu, Index rows, Index cols) {
        return {next_datum(gpu), 0, rows * cols, 0, 1, 0, rows, cols, 1, rows};
    }
    /// All tasks that use the buffer's contents are submitted.
    void done(const Datum* buffer) const;

  private:
    Datum* next_datum(int gpu);

    static constexpr std::size_t buffers_a_gpu = 4;

    Runtime& runtime_;
    const std::size_t element_size_;
    std::mutex lock_;  // guards what follows
    Index elements_ = 0;
    bool through_host_ = false;
    PooledBuffer pinned_;
    HostBuffer addresses_;              // in its place where only GPUs use the buffers: never touched
    std::vector<DatumHandle> buffers_;  // behind the memory: destroyed, and so waited for, before it
    std::vector<std::size_t> taken_;    ///< by GPU
};

}  // namespace basalt::detail
