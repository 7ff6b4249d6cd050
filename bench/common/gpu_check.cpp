#include "bench/common/gpu_check.hpp"

#include <new>
#include <stdexcept>
#include <string>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

namespace bench {

namespace {

[[noreturn]] void fail(const char* call, const std::string& why) {
    throw std::runtime_error(std::string(call) + " failed: " + why);
}

/// The name of a status. cuSOLVER has no function that gives it.
std::string cusolver_text(int status) {
    switch (status) {
        case CUSOLVER_STATUS_NOT_INITIALIZED: return "not initialized";
        case CUSOLVER_STATUS_INVALID_VALUE: return "invalid value";
        case CUSOLVER_STATUS_ARCH_MISMATCH: return "architecture mismatch";
        case CUSOLVER_STATUS_EXECUTION_FAILED: return "execution failed";
        case CUSOLVER_STATUS_INTERNAL_ERROR: return "internal error";
        case CUSOLVER_STATUS_NOT_SUPPORTED: return "not supported";
        default: return "other";
    }
}

}  // namespace

void check_cuda(int status, const char* call) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
    fail(call, cudaGetErrorString(static_cast<cudaError_t>(status)));
}

void check_cublas(int status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
    fail(call, cublasGetStatusName(static_cast<cublasStatus_t>(status)));
}

void check_cusolver(int status, const char* call) {
    if (status == CUSOLVER_STATUS_SUCCESS) return;
    if (status == CUSOLVER_STATUS_ALLOC_FAILED) throw std::bad_alloc();
    fail(call, "status " + std::to_string(status) + " (" + cusolver_text(status) +
                   "), CUDA says: " + cudaGetErrorString(cudaGetLastError()));
}

}  // namespace bench
