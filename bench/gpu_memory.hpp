#pragma once

#include <cstddef>

namespace bench {

/// Memory of a GPU, outside any runtime. Throws std::bad_alloc.
class GpuMemory {
  public:
    explicit GpuMemory(std::size_t bytes, int gpu = 0);
    ~GpuMemory();
    GpuMemory(const GpuMemory&) = delete;
    GpuMemory& operator=(const GpuMemory&) = delete;
    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

/// Waits for all that the process has enqueued on GPUs 0 .. gpus - 1. GPU 0 is the calling thread's current
/// one afterwards.
void synchronize_gpus(int gpus);

}  // namespace bench
