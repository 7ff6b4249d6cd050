#pragma once

#include <cstddef>

namespace basalt::detail {

/// What stands behind a HostBuffer before it is used.
enum class HostBacking {
    promised,   ///< more than the machine has is refused
    untouched,  ///< mostly addresses, of data that only GPUs hold: they may be more than the machine has memory
};

/// Zeroed host memory, aligned to a cache line, and to 256 bytes where it is as large; on huge pages where it is
/// larger still: pages are taken when they are first touched. Movable.
class HostBuffer {
  public:
    HostBuffer() = default;
    /// Throws std::bad_alloc.
    explicit HostBuffer(std::size_t bytes, HostBacking backing = HostBacking::promised);
    HostBuffer(HostBuffer&& other) noexcept;
    HostBuffer& operator=(HostBuffer&& other) noexcept;
    ~HostBuffer();

    void* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace basalt::detail
