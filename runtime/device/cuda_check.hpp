#pragma once

#include <optional>
#include <source_location>
#include <string>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace basalt::detail {

/// A CUDA or cuBLAS call that failed. CudaDevice makes a DeviceError of it.
struct CudaFailure {
    std::string call;
    std::string why;      ///< the error's name and text
    bool sticky = false;  ///< the device's context is spoilt: every later call will fail
    bool out_of_memory = false;
    std::source_location where;
};

/// Throws a CudaFailure where the call failed, and clears the thread's last error.
void check_cuda(cudaError_t status, const char* call, std::source_location where = std::source_location::current());
void check_cuda(cublasStatus_t status, const char* call, std::source_location where = std::source_location::current());

/// The twin for destructors: returns whether the call succeeded; what failed is in the log at debug level.
bool try_cuda(cudaError_t status, const char* call,
              std::source_location where = std::source_location::current()) noexcept;

bool is_sticky(cudaError_t status);

/// Makes a device the calling thread's current one, and the former one again at the end.
class CurrentDevice {
  public:
    explicit CurrentDevice(int device) noexcept;
    ~CurrentDevice();
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

  private:
    std::optional<int> former_;  ///< to be restored
};

}  // namespace basalt::detail
