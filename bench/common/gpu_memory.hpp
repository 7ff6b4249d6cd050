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

/// Waits until GPUs 0 .. gpus - 1 have finished all work of this process. Afterwards GPU 0 is current in the calling
/// thread.
void synchronize_gpus(int gpus);

}  // namespace bench
