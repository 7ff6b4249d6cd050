#include "runtime/device/cuda_stream.hpp"

#include <cstdlib>
#include <string_view>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

CudaStream::CudaStream(int device, int multiprocessors, bool urgent, int devices)
    : awaited_(static_cast<std::size_t>(devices) * stream_roles) {
    int least = 0;
    int highest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &highest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? highest : least),
               "cudaStreamCreateWithPriority");
    context_ = {.native = stream_, .device = device, .multiprocessors = multiprocessors};
    // at once: making one takes as long as recording it
    for (Mark& mark : marks_) {
        check_cuda(cudaEventCreateWithFlags(&mark.events[0], cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
}

CudaStream::~CudaStream() {
    if (blas_ != nullptr) cublasDestroy(blas_);
    if (workspace_ != nullptr) try_cuda(cudaFree(workspace_), "cudaFree");
    for (const Mark& mark : marks_) {
        for (cudaEvent_t event : mark.events) {
            if (event != nullptr) try_cuda(cudaEventDestroy(event), "cudaEventDestroy");
        }
    }
    try_cuda(cudaStreamDestroy(stream_), "cudaStreamDestroy");
}

void CudaStream::make_blas(std::size_t workspace_bytes) {
    check_cuda(cudaMalloc(&workspace_, workspace_bytes), "cudaMalloc of a cuBLAS workspace");
    check_cuda(cublasCreate(&blas_), "cublasCreate");
    // the stream first: setting it takes the workspace away again
    check_cuda(cublasSetStream(blas_, stream_), "cublasSetStream");
    check_cuda(cublasSetWorkspace(blas_, workspace_, workspace_bytes), "cublasSetWorkspace");
    check_cuda(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
    // In the default mode that variable makes TF32 of all products of floats, which nobody has asked us for.
    const char* const override = std::getenv("NVIDIA_TF32_OVERRIDE");
    if (override != nullptr && std::string_view(override) != "0") {
        check_cuda(cublasSetMathMode(blas_, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    }
    context_.blas = blas_;
}

Ticket CudaStream::record(bool timed) {
    const std::lock_guard lock(mutex_);
    Mark& mark = mark_of(recorded_ + 1);
    cudaEvent_t& event = mark.events[timed ? 1 : 0];
    if (event == nullptr) {
        const CurrentDevice current(context_.device);  // the event's, whoever calls
        check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    }
    check_cuda(cudaEventRecord(event, stream_), "cudaEventRecord");
    mark.ticket = ++recorded_;
    mark.timed = timed;
    return recorded_;
}

bool CudaStream::reached(Ticket ticket) {
    if (known_reached(ticket)) return true;
    const std::lock_guard lock(mutex_);
    const Mark& mark = mark_of(ticket);
    const cudaError_t status = cudaEventQuery(mark.event());
    if (status == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());  // or the next kernel launch would seem to have failed
        return false;
    }
    check_cuda(status, "cudaEventQuery");
    know_reached(mark.ticket);
    return true;
}

void CudaStream::know_reached(Ticket ticket) {
    // only under the mutex does it grow
    if (!known_reached(ticket)) reached_.store(ticket, std::memory_order_release);
}

void CudaStream::wait_for(CudaStream& other, int other_device, StreamRole other_role, Ticket ticket) {
    if (&other == this || other.known_reached(ticket)) return;
    const std::scoped_lock lock(mutex_, other.mutex_);
    Ticket& awaited =
        awaited_[static_cast<std::size_t>(other_device) * stream_roles + static_cast<std::size_t>(other_role)];
    if (ticket <= awaited) return;
    const Mark& mark = other.mark_of(ticket);
    check_cuda(cudaStreamWaitEvent(stream_, mark.event(), 0), "cudaStreamWaitEvent");
    awaited = mark.ticket;
}

cudaEvent_t CudaStream::timed_event(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const Mark& mark = mark_of(ticket);
    return mark.ticket == ticket && mark.timed ? mark.event() : nullptr;
}

}  // namespace basalt::detail
