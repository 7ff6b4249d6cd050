#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/cuda_relay_kernel.hpp"
#include "runtime/device/device.hpp"

namespace basalt::detail {

/// A GPU's part in relays: the memory where other GPUs announce what they have brought, for each of them apart, and how
/// far its own announcements to each of them have got.
///
/// A GPU's relay kernels run one after the other, so what it tells another one only grows: a hop that runs after a
/// later relay of the same two GPUs has begun finds all its chunks announced, and they are there.
///
/// One thread at a time: one relay is enqueued at a time in the process, see Device::relay_to_peer().
class CudaRelay {
  public:
    /// On the current device, number `device` of `devices`. Throws CudaFailure.
    CudaRelay(const GpuTuning::Links::Relay& tuning, int device, int devices);
    ~CudaRelay();
    CudaRelay(const CudaRelay&) = delete;
    CudaRelay& operator=(const CudaRelay&) = delete;

    /// Enqueues a hop's kernel on the stream, one of the current device, which is this one's; `next`: the part of the
    /// GPU that passes on from there, nullptr for the last hop. Throws CudaFailure.
    std::optional<RelayMark> enqueue(const Copy& copy, const std::optional<RelayMark>& before, CudaRelay* next,
                                     cudaStream_t stream);

  private:
    std::uint32_t* told_by(int device) const { return words_ + static_cast<std::size_t>(device) * shape_.words(); }

    const RelayShape shape_;
    const int device_;
    std::uint32_t* words_ = nullptr;
    std::vector<std::uint32_t> told_;  // to each other device
};

}  // namespace basalt::detail
