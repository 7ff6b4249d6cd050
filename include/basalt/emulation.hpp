#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace basalt {

/// Emulated GPUs: devices with memory, streams and events of their own on threads of this process, which run the CPU
/// twins of the cuda kernels. For running and testing multi-GPU programs on a machine without a GPU.
struct Emulation {
    int gpus = 0;
    /// Bytes of memory of each GPU; at least Config::gpu_memory is used. Host memory is allocated when it is first
    /// written.
    std::size_t memory = std::size_t{2} << 30;
    /// Selects the entry of the tuning table, as GpuTuning::architecture does: the nearest one that is not newer, the
    /// oldest where there is none or the name is unknown.
    std::string architecture = "sm_90";
    /// Whether the GPUs copy to each other directly; otherwise copies go through the host.
    bool peer_access = true;
    /// Each operation on a stream is delayed by a random time up to this (>= 0), so that operations that may be
    /// reordered are reordered.
    std::chrono::nanoseconds longest_delay{0};
    /// Seed of the delays.
    std::uint64_t seed = 0;
    /// The k-th allocation, copy or kernel of each device fails (counted from 1); 0: none does.
    std::uint64_t failing_allocation = 0;
    std::uint64_t failing_copy = 0;
    std::uint64_t failing_kernel = 0;
    /// The k-th kernel of each device faults as one on a real GPU: in its stream's turn, the device is lost, and later
    /// calls fail without telling which kernel it was; 0: none does.
    std::uint64_t faulting_kernel = 0;
    /// Failures are sticky, as after a fault inside a GPU kernel: the device is lost.
    bool failures_are_sticky = false;
    /// The only device that fails, from 0 to gpus - 1; without a value all devices fail.
    std::optional<int> failing_gpu = std::nullopt;
    /// How many times as long as its CPU twin a kernel takes on each GPU: the stream sleeps after the twin has run.
    /// From 1 to 1e6, one for each GPU; empty: 1. GPUs of different speed have different models.
    std::vector<double> slowness{};
    /// Bytes that each GPU's link copies in a second, at most, 1000 or more: the stream sleeps after a faster copy. 0:
    /// no limit. Policies count on it.
    double link_bytes_a_second = 0;
};

}  // namespace basalt
