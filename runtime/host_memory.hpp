#pragma once

#include <cstddef>

namespace basalt::detail {

/// Zeroed host memory, aligned to a cache line, on huge pages where it is large. Movable.
class HostBuffer {
  public:
    HostBuffer() = default;
    /// Throws std::bad_alloc.
    explicit HostBuffer(std::size_t bytes);
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
