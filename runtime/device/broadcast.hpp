#pragma once

#include <cstddef>
#include <vector>

#include "runtime/device/device_work.hpp"

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
    /// only where the source is a device and there are such.
    void* through_host = nullptr;
    /// What a copy moves at once; 0: by broadcast_chunk(), or relays, and small buffers are sent by the source alone.
    std::size_t chunk_bytes = 0;
};

/// Enqueues the copies and returns where they end: first, for each target, one point at which it has
/// everything (the one that `serves` it), then points (serving nobody) behind which nothing of this broadcast
/// runs any more. `traced`: and what each stream does for each place it copies to, from its first chunk to its last;
/// all shares that it passes on to one target are one span, as their chunks take turns.
///
/// From a device: a ring, along the list of targets. In chunks, each device passing on one while it gets the
/// next, so that n devices take hardly longer than one; or, where tuning().links.relay says so and neither the source
/// nor any target has anything to compute when it is enqueued, by kernels that pass on far smaller pieces. From the
/// host, where targets reach each other: each gets a share from the host over its own link, and all shares go round the
/// ring (an all-gather), since one link to the host is slower than those between devices by far. A target that its
/// predecessor does not reach gets its copy from the source, or from the host.
///
/// What happens before: all that `home` waits for, which is the peer stream of the source, or from_host of
/// the first target. When a call fails the error is thrown, and `home` waits for what was enqueued until
/// then.
Enqueued enqueue_broadcast(const BroadcastPlan& plan, bool traced = false);

}  // namespace basalt::detail
