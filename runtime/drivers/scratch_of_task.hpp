#pragma once

#include <cstddef>

#include "runtime/memory/device_memory.hpp"

namespace basalt::detail {

/// The scratch memory of a task, whose kernel is being called.
class ScratchOfTask final : public StreamScratch {
  public:
    ScratchOfTask(DeviceMemory& memory, int device, StreamRole stream, TaskRef task)
        : memory_(memory), device_(device), stream_(stream), task_(task) {}

    void* take(std::size_t bytes) override {
        return memory_.take_scratch(node_of_device(device_), stream_, task_, bytes);
    }

  private:
    DeviceMemory& memory_;
    const int device_;
    const StreamRole stream_;
    const TaskRef task_;
};

}  // namespace basalt::detail
