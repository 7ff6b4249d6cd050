#pragma once

#include <cuda_runtime_api.h>

namespace basalt::detail {

/// A handle of cuSOLVER's dense functions on a stream. cuSOLVER is loaded when the first one is made: most programs do
/// without, and those that call it have it in their process already.
class CudaSolver {
  public:
    /// Throws CudaFailure, also where cuSOLVER is missing.
    explicit CudaSolver(cudaStream_t stream);
    ~CudaSolver();
    CudaSolver(const CudaSolver&) = delete;
    CudaSolver& operator=(const CudaSolver&) = delete;

    /// cusolverDnHandle_t
    void* handle() const { return handle_; }

  private:
    void* handle_ = nullptr;
};

}  // namespace basalt::detail
