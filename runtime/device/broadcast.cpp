#include "runtime/device/broadcast.hpp"

#include <algorithm>

namespace basalt::detail {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

/// The copies from one buffer to the next: on which stream they run, and where the last one ended.
struct Hop {
    Device* driver;
    StreamRole role;
    Device* peer;
    const std::byte* from;
    std::byte* to;
    int after;  ///< the hop that brings what this one passes on; -1: it is there already
    StreamPoint end;
};

std::vector<Hop> plan_hops(const BroadcastPlan& plan) {
    std::vector<Hop> hops;
    for (const BroadcastPlan::Target& target : plan.targets) {
        auto* to = static_cast<std::byte*>(target.to);
        Device* previous = hops.empty() ? nullptr : plan.targets[hops.size() - 1].device;
        if (previous != nullptr && !plan.from_source_only && previous->reaches(*target.device)) {
            hops.push_back({previous, StreamRole::peer, target.device, hops.back().to, to,
                            static_cast<int>(hops.size()) - 1, {}});
        } else if (plan.source != nullptr) {
            hops.push_back({plan.source, StreamRole::peer, target.device, static_cast<const std::byte*>(plan.from), to, -1, {}});
        } else {
            hops.push_back({target.device, StreamRole::from_host, nullptr, static_cast<const std::byte*>(plan.from), to, -1, {}});
        }
    }
    return hops;
}

}  // namespace

std::vector<StreamPoint> enqueue_broadcast(const BroadcastPlan& plan) {
    std::vector<Hop> hops = plan_hops(plan);
    // chunk by chunk along the ring, so that the first ones are on their way while the others are enqueued
    for (std::size_t begin = 0; begin < plan.bytes; begin += chunk_bytes) {
        const std::size_t bytes = std::min(chunk_bytes, plan.bytes - begin);
        for (Hop& hop : hops) {
            if (hop.after >= 0) {
                const StreamPoint& arrived = hops[static_cast<std::size_t>(hop.after)].end;
                hop.driver->wait_for(hop.role, *hops[static_cast<std::size_t>(hop.after)].driver, arrived.role, arrived.ticket);
            }
            const Copy copy{hop.to + begin, hop.from + begin, bytes};
            if (hop.peer != nullptr) {
                hop.driver->copy_to_peer(hop.role, *hop.peer, copy);
            } else {
                hop.driver->copy(hop.role, copy);
            }
            hop.end = {hop.driver->index(), hop.role, hop.driver->record(hop.role, false)};
        }
    }
    std::vector<StreamPoint> ends;
    for (std::size_t i = 0; i < hops.size(); ++i) {
        ends.push_back(hops[i].end);
        ends.back().serves = plan.targets[i].device->index();
    }
    return ends;
}

}  // namespace basalt::detail
