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
};

/// Enqueues the copies: a ring in chunks, each device passing on what it has got so far; where a device does not reach
/// the next one, the host sends to that one (then the source must be the host). Returns where each target has everything.
std::vector<StreamPoint> enqueue_broadcast(const BroadcastPlan& plan);

}  // namespace basalt::detail
