#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "runtime/device/gpus.hpp"
#include "runtime/graph/program_order.hpp"
#include "runtime/memory/device_memory.hpp"

namespace basalt::detail {

/// How much of the GPUs' memory data may take up, and do. Thread-safe. Numbers of GPUs are of existing ones.
class GpuMemory {
  public:
    /// `memory`: nullptr where there are no GPUs.
    GpuMemory(const ProgramOrder& order, const Gpus& gpus, DeviceMemory* memory)
        : order_(order), gpus_(gpus), memory_(memory) {}

    /// Bytes of the GPU's memory that data may take up.
    std::size_t capacity(int device) const {
        const std::lock_guard guard(order_.lock);
        return memory_->capacity(node_of_device(device));
    }
    /// Bytes that the runtime has already taken: a lower bound of capacity() that is known without asking the device.
    std::size_t taken(int device) const { return memory_->bytes(node_of_device(device)).taken; }
    /// Bytes that data have of it at present.
    std::size_t in_use(int device) const { return memory_->bytes(node_of_device(device)).in_use; }
    /// The most bytes that data had at once of any GPU, since forget_most_in_use().
    std::size_t most_in_use() const {
        std::size_t most = 0;
        for (int d = 0; d < gpus_.count(); ++d) {
            most = std::max(most, memory_->bytes(node_of_device(d)).most_in_use);
        }
        return most;
    }
    void forget_most_in_use() {
        if (memory_ != nullptr) memory_->forget_most_in_use();
    }
    /// Room on a GPU for `count` data of `bytes` each, side by side.
    void prepare(int device, std::size_t bytes, std::size_t count) {
        const std::lock_guard guard(order_.lock);
        memory_->prepare(node_of_device(device), bytes, count);
    }

  private:
    const ProgramOrder& order_;
    const Gpus& gpus_;
    DeviceMemory* const memory_;
};

}  // namespace basalt::detail
