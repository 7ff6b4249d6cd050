#include "runtime/device/cuda_staging.hpp"

#include <cstring>
#include <memory>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

namespace {

// Larger copies are worth pinning the memory; copying this many bytes takes about a tenth of a millisecond.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

/// Runs in a stream, on a thread of CUDA's.
void CUDART_CB copy_on_host(void* data) {
    const std::unique_ptr<const Copy> copy(static_cast<const Copy*>(data));
    auto* to = static_cast<std::byte*>(copy->to);
    const auto* from = static_cast<const std::byte*>(copy->from);
    for (std::size_t i = 0; i < copy->rows; ++i, to += copy->to_pitch, from += copy->from_pitch) {
        std::memcpy(to, from, copy->row_bytes);
    }
}

void enqueue_on_host(cudaStream_t stream, const Copy& copy) {
    auto data = std::make_unique<Copy>(copy);
    check_cuda(cudaLaunchHostFunc(stream, copy_on_host, data.get()), "cudaLaunchHostFunc");
    static_cast<void>(data.release());  // the function's now
}

/// The copy with its rows one behind the other in `memory` instead of where they come from, or go to.
Copy out_of(void* memory, Copy copy) {
    copy.from = memory;
    copy.from_pitch = copy.row_bytes;
    return copy;
}
Copy into(void* memory, Copy copy) {
    copy.to = memory;
    copy.to_pitch = copy.row_bytes;
    return copy;
}

void enqueue_on_device(cudaStream_t stream, const Copy& copy, cudaMemcpyKind kind) {
    check_cuda(
        cudaMemcpy2DAsync(copy.to, copy.to_pitch, copy.from, copy.from_pitch, copy.row_bytes, copy.rows, kind, stream),
        "cudaMemcpy2DAsync");
}

/// With pitches also where there is one row.
Copy pitched(Copy copy) {
    if (copy.rows == 1) copy.to_pitch = copy.from_pitch = copy.row_bytes;
    return copy;
}

}  // namespace

CudaStaging::~CudaStaging() {
    if (memory_ != nullptr) try_cuda(cudaFreeHost(memory_), "cudaFreeHost");
}

bool CudaStaging::wants(const Copy& copy, const void* host) {
    if (copy.rows * copy.row_bytes > most_bytes) return false;
    cudaPointerAttributes attributes{};
    check_cuda(cudaPointerGetAttributes(&attributes, host), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeUnregistered;
}

bool CudaStaging::ready() {
    if (memory_ != nullptr) return true;
    return try_cuda(cudaHostAlloc(&memory_, most_bytes, cudaHostAllocPortable), "cudaHostAlloc");
}

void CudaStaging::from_host(cudaStream_t stream, const Copy& copy) {
    enqueue_on_host(stream, into(memory_, pitched(copy)));
    try {
        enqueue_on_device(stream, out_of(memory_, pitched(copy)), cudaMemcpyHostToDevice);
    } catch (...) {  // the function still reads memory of the caller's
        try_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        throw;
    }
}

void CudaStaging::to_host(cudaStream_t stream, const Copy& copy) {
    enqueue_on_device(stream, into(memory_, pitched(copy)), cudaMemcpyDeviceToHost);
    enqueue_on_host(stream, out_of(memory_, pitched(copy)));
}

}  // namespace basalt::detail
