#pragma once

#include <memory>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

/// Owners of what CUDA hands out. Each gives its handle back at its end, on the device that is current then.
struct CudaDeleter {
    void operator()(cudaStream_t stream) const noexcept { try_cuda(cudaStreamDestroy(stream), "cudaStreamDestroy"); }
    void operator()(cudaEvent_t event) const noexcept { try_cuda(cudaEventDestroy(event), "cudaEventDestroy"); }
    void operator()(cublasHandle_t handle) const noexcept { cublasDestroy(handle); }
    void operator()(void* memory) const noexcept { try_cuda(cudaFree(memory), "cudaFree"); }
};
template <class Handle>
using CudaOwner = std::unique_ptr<std::remove_pointer_t<Handle>, CudaDeleter>;

using OwnedStream = CudaOwner<cudaStream_t>;
using OwnedEvent = CudaOwner<cudaEvent_t>;
using OwnedBlas = CudaOwner<cublasHandle_t>;
using OwnedDeviceMemory = CudaOwner<void*>;

}  // namespace basalt::detail
