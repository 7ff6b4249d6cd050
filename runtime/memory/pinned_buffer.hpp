#pragma once

#include <cstddef>

#include "runtime/host_memory.hpp"

namespace basalt::detail {

class Engine;

/// Zeroed host memory that the engine's GPUs copy to and from at full speed (where there are any). The engine outlives it.
class PinnedBuffer {
  public:
    PinnedBuffer() = default;
    /// Throws std::bad_alloc, DeviceError.
    PinnedBuffer(Engine& engine, std::size_t bytes);
    PinnedBuffer(PinnedBuffer&& other) noexcept;
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept;
    ~PinnedBuffer();

    void* data() const { return memory_.data(); }

  private:
    Engine* engine_ = nullptr;
    HostBuffer memory_;
};

}  // namespace basalt::detail
