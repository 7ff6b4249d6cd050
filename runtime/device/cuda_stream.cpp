#include "runtime/device/cuda_stream.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

namespace {

OwnedStream make_stream(StreamRole role) {
    const bool urgent = first_of_pool(role) == StreamRole::urgent_compute || role == StreamRole::relay;
    int least = 0;
    int highest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &highest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? highest : least),
               "cudaStreamCreateWithPriority");
    return OwnedStream(stream);
}

OwnedEvent make_event(unsigned flags) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, flags), "cudaEventCreateWithFlags");
    return OwnedEvent(event);
}

}  // namespace

CudaStream::CudaStream(int device, int multiprocessors, StreamRole role, int devices)
    : stream_(make_stream(role)), awaited_(static_cast<std::size_t>(devices) * stream_roles) {
    context_ = {.native = native(), .device = device, .multiprocessors = multiprocessors};
    // at once: making one takes as long as recording it. A stream that is made while others compute makes them by and
    // by.
    if (static_cast<int>(role) >= named_streams) return;
    for (Mark& mark : marks_) mark.events[0] = make_event(cudaEventDisableTiming);
}

void CudaStream::make_blas(std::size_t workspace_bytes) {
    void* workspace = nullptr;
    check_cuda(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc of a cuBLAS workspace");
    workspace_.reset(workspace);
    cublasHandle_t blas = nullptr;
    check_cuda(cublasCreate(&blas), "cublasCreate");
    OwnedBlas made(blas);
    // the stream first: setting it takes the workspace away again
    check_cuda(cublasSetStream(blas, native()), "cublasSetStream");
    check_cuda(cublasSetWorkspace(blas, workspace, workspace_bytes), "cublasSetWorkspace");
    check_cuda(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST), "cublasSetPointerMode");
    // In the default mode that variable makes cuBLAS compute all products of floats in TF32, which the user has not
    // chosen.
    const char* const override = std::getenv("NVIDIA_TF32_OVERRIDE");
    if (override != nullptr && std::string_view(override) != "0") {
        check_cuda(cublasSetMathMode(blas, CUBLAS_PEDANTIC_MATH), "cublasSetMathMode");
    }
    blas_ = std::move(made);
}

Ticket CudaStream::record(Timing timing) {
    const std::lock_guard lock(mutex_);
    Mark& mark = mark_of(recorded_ + 1);
    OwnedEvent& event = mark.events[timing == Timing::timed ? 1 : 0];
    if (event == nullptr) {
        const CurrentDevice current(context_.device);  // an event is of the device that is current when it is made
        event = make_event(cudaEventDefault);
    }
    check_cuda(cudaEventRecord(event.get(), native()), "cudaEventRecord");
    mark.ticket = ++recorded_;
    mark.timed = timing == Timing::timed;
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
    check_cuda(cudaStreamWaitEvent(native(), mark.event(), 0), "cudaStreamWaitEvent");
    awaited = mark.ticket;
}

cudaEvent_t CudaStream::timed_event(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const Mark& mark = mark_of(ticket);
    return mark.ticket == ticket && mark.timed ? mark.event() : nullptr;
}

}  // namespace basalt::detail
