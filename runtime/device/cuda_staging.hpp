#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include "runtime/device/device.hpp"

namespace basalt::detail {

/// Copies between a GPU and a little host memory that is not pinned. CUDA itself would hold up the thread that enqueues
/// such a copy, towards the host until everything in front of it has run. Here the bytes pass through pinned memory, to
/// or from which a function in the stream copies them. One for each stream: a copy finds the memory free because the
/// one before it has ended. Used by one thread at a time.
class CudaStaging {
  public:
    CudaStaging() = default;
    /// Behind all copies.
    ~CudaStaging();
    CudaStaging(const CudaStaging&) = delete;
    CudaStaging& operator=(const CudaStaging&) = delete;

    /// Whether the copy is one of those; `host` is its side there.
    static bool wants(const Copy& copy, const void* host);

    /// False where no memory can be pinned.
    bool ready();
    /// When ready(). The device that the stream belongs to is the thread's. Throw CudaFailure; what was enqueued has
    /// run.
    void from_host(cudaStream_t stream, const Copy& copy);
    void to_host(cudaStream_t stream, const Copy& copy);

  private:
    void* memory_ = nullptr;
};

}  // namespace basalt::detail
