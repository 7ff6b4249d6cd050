#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/device/broadcast_plan.hpp"

namespace basalt::detail {

/// The copies of bytes [begin, end) of the buffer from one place to the next, in chunks. On the stream `relay`: one hop
/// of a relay.
struct Hop {
    Device* driver;  ///< whose stream copies
    StreamRole role;
    Device* peer;  ///< nullptr: between the host and `driver`
    const std::byte* from;
    std::byte* to;
    std::optional<std::size_t> target;  ///< which target of the plan gets it; empty: the host
    std::size_t begin;
    std::size_t end;
    std::size_t chunk;
    std::optional<std::size_t> parent{};  ///< the hop that brings what this one passes on; empty: it is there
    int depth = 0;                        ///< how many hops are in front of it
    bool has_children = false;

    std::size_t chunks() const { return (end - begin + chunk - 1) / chunk; }
};

/// The hops of a broadcast, parents in front of children; none where there is nothing to copy. Either all of them are
/// of a relay or none.
std::vector<Hop> broadcast_route(const BroadcastPlan& plan);

/// The best length of a chunk for `bytes` bytes that travel through `hops` hops. A chunk of c bytes costs
/// each hop its own time and a fixed time worth s bytes. The total B + (B / c) s + (hops - 1) c is least at c =
/// sqrt(B s / (hops - 1)).
std::size_t broadcast_chunk(const GpuTuning::Links& links, std::size_t bytes, std::size_t hops, StreamRole first_hop);

}  // namespace basalt::detail
