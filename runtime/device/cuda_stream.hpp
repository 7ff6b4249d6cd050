#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "runtime/device/cuda_handles.hpp"
#include "runtime/device/device.hpp"

namespace basalt::detail {

/// A CUDA stream with its events: a ring of them, the one of ticket t at place t modulo the ring's size. A
/// ticket whose event was taken over by a newer one counts as reached when the newer one is.
///
/// Everything throws CudaFailure. Safe to use from several threads.
class CudaStream {
  public:
    /// On the current device, which has `multiprocessors` of them. The role decides about its priority. `devices`: the
    /// number of devices in all.
    CudaStream(int device, int multiprocessors, StreamRole role, int devices);
    ~CudaStream() = default;
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;

    /// Makes a cuBLAS handle for it, on the current device.
    void make_blas(std::size_t workspace_bytes);

    cudaStream_t native() const { return stream_.get(); }
    const StreamContext& context() const { return context_; }
    /// nullptr before make_blas().
    cublasHandle_t blas() const { return blas_.get(); }
    /// Who makes handles for kernels on this stream; before the first of them.
    void set_libraries(StreamLibraries* libraries) { context_.libraries = libraries; }

    /// The device's entry of the tuning tables, which outlives this; before the first kernel.
    void set_tuning(const GpuTuning* tuning) { context_.tuning = tuning; }

    Ticket record(Timing timing);
    /// The newest ticket.
    Ticket recorded() const { return recorded_.load(std::memory_order_acquire); }
    bool reached(Ticket ticket);
    /// As far as is known without asking.
    bool known_reached(Ticket ticket) const { return ticket <= reached_.load(std::memory_order_acquire); }
    /// Has this stream wait for a ticket of another one, a stream of device `other_device`.
    void wait_for(CudaStream& other, int other_device, StreamRole other_role, Ticket ticket);
    /// The event of a timed ticket; nullptr where it was not timed or was taken over.
    cudaEvent_t timed_event(Ticket ticket);

  private:
    /// Events with times cost more to record, so each place has one of either kind; that one is made when first needed.
    struct Mark {
        std::array<OwnedEvent, 2> events;  // without and with times
        Ticket ticket = 0;
        bool timed = false;
        cudaEvent_t event() const { return events[timed ? 1 : 0].get(); }
    };

    Mark& mark_of(Ticket ticket) { return marks_[ticket % marks_.size()]; }
    void know_reached(Ticket ticket);

    StreamContext context_;
    // in the order in which they depend on each other: each goes before what it uses
    OwnedStream stream_;
    OwnedDeviceMemory workspace_;
    OwnedBlas blas_;
    std::atomic<Ticket> reached_{0};

    std::mutex mutex_;
    std::array<Mark, Device::remembered_tickets> marks_;  // guarded by mutex_, like awaited_
    std::atomic<Ticket> recorded_{0};                     // grows under mutex_
    std::vector<Ticket> awaited_;                         // newest awaited ticket of each stream of each device
};

}  // namespace basalt::detail
