#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace basalt::tuner {

/// What a GPU has for blocks of threads (CUDA Programming Guide, "Technical Specifications per Compute Capability").
struct GpuLimits {
    std::string architecture;  ///< "sm_90"
    int threads_a_block = 1024;
    int threads_a_multiprocessor = 2048;
    int blocks_a_multiprocessor = 32;
    int registers = 65536;  ///< of a multiprocessor, and of a block
    int registers_a_thread = 255;
    std::size_t shared_a_block = 0;           ///< at most, where a kernel asks for it
    std::size_t shared_a_multiprocessor = 0;  ///< of which each block takes shared_reserved more than it asks for
    std::size_t shared_reserved = 1024;
};

/// Of a GPU that need not be here. nullopt for architectures that the library has no kernels for.
std::optional<GpuLimits> limits_of(const std::string& architecture);

/// Blocks that a multiprocessor holds at once; 0 where there is room for none.
int resident_blocks(const GpuLimits& limits, int threads, int registers, std::size_t shared);

}  // namespace basalt::tuner
