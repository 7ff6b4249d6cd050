#include "kernels/cuda/common/launch.cuh"

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <basalt/error.hpp>

namespace basalt::cuda_detail {

namespace {

[[noreturn]] void fail(const std::string& reason, const char* what, Stream stream, std::source_location where,
                       DeviceFault fault) {
    // A fault inside a kernel spoils the context: every later call reports it, this one too.
    const cudaError_t after = cudaStreamQuery(native(stream));
    const bool sticky = after != cudaSuccess && after != cudaErrorNotReady;
    throw DeviceError(std::string(what) + ": " + reason + " (" + where.file_name() + ":" +
                          std::to_string(where.line()) + ", gpu " + std::to_string(stream.device()) + ")",
                      stream.device(), sticky ? DeviceFault::device_lost : fault);
}

}  // namespace

void check(cudaError_t status, const char* what, Stream stream, std::source_location where) {
    if (status == cudaSuccess) return;
    fail(std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status), what, stream, where,
         status == cudaErrorMemoryAllocation ? DeviceFault::out_of_memory : DeviceFault::call_failed);
}

void check(cublasStatus_t status, const char* what, Stream stream, std::source_location where) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    fail(cublasGetStatusName(status), what, stream, where,
         status == CUBLAS_STATUS_ALLOC_FAILED ? DeviceFault::out_of_memory : DeviceFault::call_failed);
}

dim3 blocks(const Grid& grid, std::source_location where) {
    if (!can_launch(grid)) {
        throw std::length_error("a kernel of " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                                std::to_string(grid.z) + " blocks (" + where.file_name() + ":" +
                                std::to_string(where.line()) + "): allowed are 1 to " + std::to_string(most_blocks_x) +
                                " x " + std::to_string(most_blocks_yz) + " x " + std::to_string(most_blocks_yz));
    }
    return {static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z)};
}

void allow_shared(const void* kernel, std::size_t bytes, Stream stream, std::source_location where) {
    static std::mutex mutex;
    static std::set<std::pair<int, const void*>> allowed;
    const std::scoped_lock lock(mutex);
    const std::pair key(stream.device(), kernel);
    if (allowed.contains(key)) return;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute", stream, where);
    allowed.insert(key);
}

}  // namespace basalt::cuda_detail
