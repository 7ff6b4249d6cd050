#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "basalt/array.hpp"
#include "base/host_memory.hpp"
#include "runtime/memory/host_pool.hpp"

namespace basalt::detail {

/// Where stripes of an array travel.
enum class StripePath : std::uint8_t {
    on_gpus,       ///< the host's memory takes no part
    through_host,  ///< in pinned memory on their way
};

/// Buffers for column-major stripes of a user's array on their way to and from GPUs: a few for each GPU, used in turn.
/// They are kept from one use to the next, because pinning and allocating take long.
class HostStripes {
  public:
    HostStripes(Runtime& runtime, std::size_t element_size) : runtime_(runtime), element_size_(element_size) {}

    /// Makes the buffers hold `elements` each, in the host's memory too where the path leads through it. One use at a
    /// time, which ends with the lock that is returned. Throws std::bad_alloc, DeviceError.
    [[nodiscard]] std::unique_lock<std::mutex> begin(Index elements, StripePath path);

    /// The next buffer of that GPU as rows x cols elements, column-major and dense.
    template <class T>
    Region<T> next(int gpu, Index rows, Index cols) {
        const DatumHandle& buffer = next_buffer(gpu);
        return {buffer.get(), buffer.generation(), 0, rows * cols, 0, 1, 0, rows, cols, 1, rows};
    }
    /// Waits for the buffers' users and gives their memory back.
    void clear();
    /// All tasks that use the buffer's contents are submitted.
    void done(const Datum* buffer) const;

  private:
    const DatumHandle& next_buffer(int gpu);

    static constexpr std::size_t buffers_a_gpu = 4;

    Runtime& runtime_;
    const std::size_t element_size_;
    std::mutex lock_;  // guards what follows
    Index elements_ = 0;
    StripePath path_ = StripePath::on_gpus;
    PooledBuffer pinned_;
    HostBuffer addresses_;              // used instead where only GPUs use the buffers: never touched
    std::vector<DatumHandle> buffers_;  // declared after the memory: waited for and destroyed before it
    std::vector<std::size_t> taken_;    ///< by GPU
};

}  // namespace basalt::detail
