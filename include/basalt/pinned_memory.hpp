#pragma once

#include <memory>
#include <utility>

#include "basalt/runtime.hpp"

namespace basalt {

namespace detail {
struct PinnedRange;
}

/// Memory of the program's own that GPUs copy to and from at full speed, as long as this exists: see Runtime::pin().
/// Destroy it before the memory is freed. It may outlive its runtime, whose end gives the memory back to the system.
/// Movable, not copyable.
class PinnedMemory {
  public:
    PinnedMemory() = default;
    explicit PinnedMemory(std::shared_ptr<detail::PinnedRange> range) : range_(std::move(range)) {}
    PinnedMemory(PinnedMemory&&) noexcept = default;
    PinnedMemory& operator=(PinnedMemory&&) noexcept = default;
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    ~PinnedMemory() = default;

  private:
    std::shared_ptr<detail::PinnedRange> range_;
};

}  // namespace basalt
