#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace basalt::detail {

/// Enqueues a kernel that writes the device's %globaltimer, in nanoseconds, to pinned host memory.
cudaError_t enqueue_timer_reading(std::int64_t* pinned, cudaStream_t stream);

}  // namespace basalt::detail
