#include "runtime/device/cuda_check.hpp"

#include <spdlog/spdlog.h>

namespace basalt::detail {

namespace {

std::string text_of(cudaError_t status) {
    return std::string(cudaGetErrorName(status)) + ": " + cudaGetErrorString(status);
}

}  // namespace

bool is_sticky(cudaError_t status) {
    switch (status) {
        case cudaErrorIllegalAddress:
        case cudaErrorLaunchTimeout:
        case cudaErrorAssert:
        case cudaErrorHardwareStackError:
        case cudaErrorIllegalInstruction:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorInvalidPc:
        case cudaErrorLaunchFailure:
        case cudaErrorECCUncorrectable:
        case cudaErrorNvlinkUncorrectable:
        case cudaErrorContextIsDestroyed:
        case cudaErrorExternalDevice:
        case cudaErrorUnknown: return true;
        default: return false;
    }
}

void check_cuda(cudaError_t status, const char* call, std::source_location where) {
    if (status == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw CudaFailure{.call = call,
                      .why = text_of(status),
                      .sticky = is_sticky(status),
                      .out_of_memory = status == cudaErrorMemoryAllocation,
                      .where = where};
}

void check_cuda(cublasStatus_t status, const char* call, std::source_location where) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw CudaFailure{.call = call,
                      .why = cublasGetStatusName(status),
                      .out_of_memory = status == CUBLAS_STATUS_ALLOC_FAILED,
                      .where = where};
}

bool try_cuda(cudaError_t status, const char* call, std::source_location where) noexcept {
    if (status == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    try {
        spdlog::debug("{} (line {}): {}", call, where.line(), text_of(status));
    } catch (...) {  // no caller can be told
    }
    return false;
}

CurrentDevice::CurrentDevice(int device) noexcept {
    int current = 0;
    if (!try_cuda(cudaGetDevice(&current), "cudaGetDevice") || current == device) return;
    if (try_cuda(cudaSetDevice(device), "cudaSetDevice")) former_ = current;
}

CurrentDevice::~CurrentDevice() {
    if (former_) try_cuda(cudaSetDevice(*former_), "cudaSetDevice");
}

}  // namespace basalt::detail
