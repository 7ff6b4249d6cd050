#pragma once

#include "runtime/device/broadcast_plan.hpp"
#include "runtime/device/stream_points.hpp"

namespace basalt::detail {

/// Enqueues the copies and returns where they end. First comes, for each target, the point at which it has everything
/// (the point `serves` it); then points that serve no device, behind which nothing of this broadcast runs any more.
/// With spans, it also returns one span for each stream and each place that the stream copies to, from the first chunk
/// to the last.
///
/// From a device: a ring along the list of targets, in chunks. Each device passes on one chunk while it receives the
/// next, so n devices take hardly longer than one. If tuning().links.relay asks for it and neither the source nor any
/// target has anything to compute when the broadcast is enqueued, kernels pass on far smaller chunks instead.
/// From the host, if the targets reach each other: each target receives a share from the host over its own link, and
/// all shares go round the ring (an all-gather), because a link to the host is much slower than links between devices.
/// A target that its predecessor does not reach gets its copy from the source or from the host.
///
/// The broadcast starts behind the work on `home`, which is the peer stream of the source, or from_host of the first
/// target. When a call fails, the error is thrown, and `home` waits for the copies that were enqueued until then.
Enqueued enqueue_broadcast(const BroadcastPlan& plan, Spans spans = Spans::unwanted);

}  // namespace basalt::detail
