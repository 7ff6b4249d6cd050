#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "runtime/device/relay_shape.hpp"

namespace basalt::detail {

/// One kernel of a relay: copies a buffer in chunks, each one when the kernel of the previous hop announces it.
///
/// Announcements are words in device memory that only grow, one per channel; that of warp w of block b is at b *
/// block_words + w. base + i says that the channel's first i chunks have been copied. The words wrap round after 2^32
/// chunks.
struct RelayHop {
    const void* from;  ///< on this device; 16-byte aligned, like `to`
    void* to;          ///< on the next hop's device
    std::size_t bytes;
    const std::uint32_t* before;  ///< on this device; nullptr: everything is there
    std::uint32_t before_base;
    std::uint32_t* after;  ///< on the next hop's device; nullptr: no hop is told
    std::uint32_t after_base;
};

/// Enqueues the hop's kernel on a stream of the current device. It never waits for what comes behind it, so a relay
/// whose later hops are missing ends. One that is told nothing for about 20 seconds ends in a trap: this device is lost
/// then, and the process does not hang.
cudaError_t enqueue_relay(const RelayHop& hop, const RelayShape& shape, cudaStream_t stream);

}  // namespace basalt::detail
