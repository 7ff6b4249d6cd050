#pragma once

#include <cstddef>
#include <source_location>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/grids.hpp"

/// What every kernel file needs to enqueue work and to report that it could not.
namespace basalt::cuda_detail {

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

/// Throws a DeviceError that names the call `what`, the file and the device unless `status` is success.
void check(cudaError_t status, const char* what, Stream stream,
           std::source_location where = std::source_location::current());
void check(cublasStatus_t status, const char* what, Stream stream,
           std::source_location where = std::source_location::current());

/// After a launch: throws what kept the kernel `name` from being enqueued.
inline void check_launch(const char* name, Stream stream,
                         std::source_location where = std::source_location::current()) {
    check(cudaGetLastError(), name, stream, where);
}

/// *number = 0.
inline void clear(Stream stream, Index* number) {
    check(cudaMemsetAsync(number, 0, sizeof *number, native(stream)), "cudaMemsetAsync", stream);
}

/// Allows a kernel more than 48 kB of shared memory; of one kernel always as much. CUDA is asked once a device and
/// kernel. Thread-safe.
void allow_shared(const void* kernel, std::size_t bytes, Stream stream,
                  std::source_location where = std::source_location::current());

/// For `kernel<<<blocks(grid), ...>>>`. Throws std::length_error where the grid exceeds the limits of GPUs.
dim3 blocks(const Grid& grid, std::source_location where = std::source_location::current());

}  // namespace basalt::cuda_detail
