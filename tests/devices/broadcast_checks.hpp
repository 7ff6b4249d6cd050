#pragma once

// Broadcasts on whatever devices a Machine holds.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "runtime/device/broadcast.hpp"
#include "runtime/graph/device_work.hpp"
#include "tests/common/catch.hpp"
#include "tests/devices/device_machine.hpp"

namespace basalt_tests {

using basalt::detail::BroadcastPlan;
using basalt::detail::enqueue_broadcast;
using basalt::detail::Enqueued;
using basalt::detail::StreamPoint;
using basalt::detail::StreamSpan;

/// What is broadcast, and how; `source` -1 is the host.
struct BroadcastCase {
    int source = -1;
    std::size_t targets = 1;
    std::size_t bytes = 0;
    std::size_t chunk_bytes = 0;
    bool from_source_only = false;
    bool idle = false;     ///< no device has anything to compute meanwhile: where tuned for it, they relay
    bool relayed = false;  ///< that they do is checked
};

/// A broadcast with memory for it: targets are the devices behind the source, in turn.
class BroadcastSetting {
  public:
    BroadcastSetting(const Machine& machine, const BroadcastCase& what)
        : machine_(machine), what_(what), contents_(ramp(what.bytes, 11)), through_host_(what.bytes) {
        plan_.bytes = what.bytes;
        plan_.from_source_only = what.from_source_only;
        plan_.through_host = through_host_.data();
        plan_.chunk_bytes = what.chunk_bytes;
        plan_.from = contents_.data();
        if (what.source >= 0) {
            plan_.source = &machine[static_cast<std::size_t>(what.source)];
            plan_.source->attach_thread();
            from_ = std::make_unique<Buffer>(*plan_.source, what.bytes);
            put(*plan_.source, from_->get(), contents_);
            plan_.from = from_->get();
        }
        for (std::size_t i = 0; i < what.targets; ++i) {
            const std::size_t number = (static_cast<std::size_t>(what.source + 1) + i) % machine.size();
            buffers_.push_back(std::make_unique<Buffer>(machine[number], what.bytes));
            plan_.targets.push_back({&machine[number], buffers_.back()->get()});
        }
    }

    BroadcastPlan& plan() { return plan_; }
    Device& home_device() const { return plan_.source != nullptr ? *plan_.source : *plan_.targets[0].device; }
    StreamRole home_stream() const { return plan_.source != nullptr ? StreamRole::peer : StreamRole::from_host; }

    /// Kernels that still use the targets' memory; what comes on the home stream waits for them.
    void occupy_targets() {
        const StreamRole stream = what_.idle ? StreamRole::to_host : StreamRole::compute;
        for (const BroadcastPlan::Target& target : plan_.targets) {
            target.device->attach_thread();
            launch_fill(machine_, *target.device, stream, target.to, 0xEE, what_.bytes);
            home_device().wait_for(home_stream(), *target.device, stream,
                                   target.device->record(stream, basalt::detail::Timing::untimed));
        }
    }

    /// The contents of a target, read by a stream that waits for the end that serves it.
    Bytes read_behind(const std::vector<StreamPoint>& ends, std::size_t target) const {
        Device& device = *plan_.targets[target].device;
        device.attach_thread();
        for (const StreamPoint& end : ends) {
            if (end.serves != device.index()) continue;
            device.wait_for(StreamRole::to_host, machine_[static_cast<std::size_t>(end.device)], end.role, end.ticket);
        }
        Bytes found(what_.bytes);
        device.copy(StreamRole::to_host,
                    {.to = found.data(), .from = plan_.targets[target].to, .row_bytes = what_.bytes});
        await(device, StreamRole::to_host, device.record(StreamRole::to_host, basalt::detail::Timing::untimed));
        return found;
    }

    const Bytes& contents() const { return contents_; }

  private:
    const Machine& machine_;
    const BroadcastCase what_;
    const Bytes contents_;
    Bytes through_host_;
    std::unique_ptr<Buffer> from_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    BroadcastPlan plan_;
};

inline void await(const Machine& machine, const std::vector<StreamPoint>& ends) {
    for (const StreamPoint& end : ends) await(machine[static_cast<std::size_t>(end.device)], end.role, end.ticket);
}

/// Every target gets everything, behind the end that serves it and not in front of what the home stream waits
/// for.
inline void check_broadcast(const Machine& machine, const BroadcastCase& what) {
    CAPTURE(what.source, what.targets, what.bytes, what.chunk_bytes, what.from_source_only, what.idle);
    BroadcastSetting setting(machine, what);
    setting.occupy_targets();
    const std::vector<StreamPoint> ends = enqueue_broadcast(setting.plan()).ends;
    CHECK(ends.size() <= basalt::detail::DeviceWork::most_ends);
    if (what.relayed) CHECK(ends.front().role == basalt::detail::StreamRole::relay);
    for (std::size_t target = 0; target < what.targets; ++target) {
        CHECK(ends[target].serves == setting.plan().targets[target].device->index());
        CHECK((setting.read_behind(ends, target) == setting.contents()));
    }
    await(machine, ends);
    // nothing of it runs any more: the memory may go
}

/// When a stream was at work, in nanoseconds.
struct SpanTimes {
    SpanTimes(const Machine& machine, const StreamSpan& span)
        : begin(machine[static_cast<std::size_t>(span.device)].time_of(span.role, span.begin)),
          end(machine[static_cast<std::size_t>(span.device)].time_of(span.role, span.end)) {}
    std::int64_t begin;
    std::int64_t end;
};

/// A traced broadcast has a bar for each stream and target; forwarded chunks come first. The clocks
/// of two devices may differ by `tolerance`.
inline std::vector<StreamSpan> check_spans(const Machine& machine, const BroadcastCase& what,
                                           std::chrono::nanoseconds tolerance = {}) {
    CAPTURE(what.source, what.targets, what.bytes, what.chunk_bytes, what.from_source_only);
    BroadcastSetting setting(machine, what);
    const Enqueued streams = enqueue_broadcast(setting.plan(), basalt::detail::Spans::wanted);
    await(machine, streams.ends);
    using Memory = std::optional<int>;       // a device's, or the host's
    std::map<Memory, std::int64_t> brought;  // by target
    std::map<Memory, std::int64_t> first;    // begin of what comes to it
    std::set<std::tuple<int, StreamRole, Memory>> known;
    for (const StreamSpan& span : streams.spans) {
        REQUIRE(span.is_part);
        CHECK(known.emplace(span.device, span.role, span.target).second);
        CHECK((span.role == StreamRole::relay) == what.relayed);
        const SpanTimes times(machine, span);
        CHECK(times.begin <= times.end);
        brought[span.target] += span.bytes;
        const auto earlier = first.try_emplace(span.target, times.begin).first;
        earlier->second = std::min(earlier->second, times.begin);
    }
    for (const BroadcastPlan::Target& target : setting.plan().targets) {
        CHECK(brought[target.device->index()] == static_cast<std::int64_t>(what.bytes));
    }
    for (const StreamSpan& span : streams.spans) {
        const Memory giver = span.role == StreamRole::from_host ? Memory() : span.device;
        const auto came = first.find(giver);
        if (came != first.end()) CHECK(came->second - tolerance.count() <= SpanTimes(machine, span).begin);
    }
    return streams.spans;
}

}  // namespace basalt_tests
