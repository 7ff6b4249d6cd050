#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace bench {

/// One hop of a ring of kernels: block b of `blocks` copies pieces b, b + blocks, ... to the next GPU.
struct RelayHop {
    const void* from;             ///< on this GPU or a former one; 16-byte aligned, like `to`
    void* to;                     ///< on the next one or on this one
    std::size_t bytes;            ///< a multiple of 16
    std::size_t piece;            ///< bytes; a multiple of 16
    const std::uint32_t* before;  ///< a word a block on this GPU, where pieces are announced; nullptr: they are there
    std::uint32_t* after;         ///< the same on the next GPU; nullptr: nobody is told
    std::uint32_t base;           ///< piece i of a block is announced by base + i + 1; words only grow
};

/// Enqueues the hop's kernel on a stream of the current device. A kernel that is told nothing for two seconds ends in a
/// trap. `bulk` needs sm_90.
cudaError_t launch_relay(const RelayHop& hop, bool bulk, int blocks, cudaStream_t stream);

/// Pieces that the busiest block copies: how far the words have grown afterwards.
inline std::uint32_t relay_pieces(const RelayHop& hop, int blocks) {
    const std::size_t pieces = (hop.bytes + hop.piece - 1) / hop.piece;
    return static_cast<std::uint32_t>((pieces + static_cast<std::size_t>(blocks) - 1) /
                                      static_cast<std::size_t>(blocks));
}

}  // namespace bench
