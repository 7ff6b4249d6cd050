#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace basalt {

/// GPUs that are none: memory of their own, streams and events on threads, CPU kernels in the place of cuda ones.
/// For running and testing multi-GPU programs on a machine without a GPU.
struct Emulation {
    int gpus = 0;
    /// Memory of each, or Config::gpu_memory if more: of the host's, which must hold all but is taken as it is written.
    std::size_t memory = std::size_t{2} << 30;
    /// What they are taken for where numbers are chosen by architecture, as GpuTuning::architecture.
    std::string architecture = "sm_90";
    /// Whether they copy to each other directly; otherwise through the host.
    bool peer_access = true;
    /// Each operation on a stream is held up by a random time up to this (>= 0), so that what may be reordered is.
    std::chrono::nanoseconds longest_delay{0};
    /// Of those times.
    std::uint64_t seed = 0;
    /// The k-th allocation, copy or kernel of each device fails (counted from 1); 0: none does.
    std::uint64_t failing_allocation = 0;
    std::uint64_t failing_copy = 0;
    std::uint64_t failing_kernel = 0;
    /// The failures are sticky, as after a fault inside a GPU kernel: the device is lost.
    bool failures_are_sticky = false;
    /// Only this device fails, of 0 to gpus - 1; -1: all do.
    int failing_gpu = -1;
};

}  // namespace basalt
