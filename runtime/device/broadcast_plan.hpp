#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/device.hpp"

namespace basalt::detail {

/// One buffer that is to be copied to several devices.
struct BroadcastPlan {
    struct Target {
        Device* device;
        void* to;
    };
    Device* source = nullptr;  ///< nullptr: the host
    const void* from = nullptr;
    std::size_t bytes = 0;
    std::vector<Target> targets;
    bool from_source_only = false;  ///< the source sends to each target, instead of a ring
    /// Host memory of `bytes` bytes that gets a copy on the way to targets that no device reaches; needed
    /// only where the source is a device and such targets exist.
    void* through_host = nullptr;
    /// Bytes of a chunk. 0: broadcast_chunk() decides, or relays are used, and the source alone sends small buffers.
    std::size_t chunk_bytes = 0;
};

}  // namespace basalt::detail
