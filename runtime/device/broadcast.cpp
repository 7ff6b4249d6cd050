#include "runtime/device/broadcast.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/device/broadcast_route.hpp"

namespace basalt::detail {

namespace {

struct DeviceStream {
    Device* device = nullptr;
    StreamRole role = StreamRole::peer;

    friend bool operator==(const DeviceStream&, const DeviceStream&) = default;
    friend bool operator<(const DeviceStream& a, const DeviceStream& b) {
        return std::pair(a.device->index(), a.role) < std::pair(b.device->index(), b.role);
    }
};

/// A point in a stream.
struct Arrival {
    DeviceStream stream;
    Ticket ticket = 0;
};

DeviceStream home_of(const BroadcastPlan& plan) {
    if (plan.source != nullptr) return {plan.source, StreamRole::peer};
    return {plan.targets.front().device, StreamRole::from_host};
}

class Enqueueing {
  public:
    Enqueueing(const BroadcastPlan& plan, const std::vector<Hop>& hops, Spans spans)
        : plan_(plan),
          hops_(hops),
          traced_(spans == Spans::wanted),
          timing_(traced_ ? Timing::timed : Timing::untimed),
          home_(home_of(plan)),
          begins_(hops.size()),
          newest_(hops.size()) {}

    /// Chunk by chunk along all hops at once, so that the first ones travel while the others are enqueued. In
    /// a step the hops that lie deep come first: the newest chunk of a parent is then the one that is to be
    /// passed on.
    void enqueue() {
        if (!hops_.empty() && hops_.front().role == StreamRole::relay) return enqueue_relay();
        std::vector<std::size_t> order(hops_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [this](std::size_t a, std::size_t b) { return hops_[a].depth > hops_[b].depth; });
        std::size_t steps = 0;
        for (const Hop& hop : hops_) steps = std::max(steps, static_cast<std::size_t>(hop.depth) + hop.chunks());
        if (starts_elsewhere())
            start_ = home_.device->record(home_.role, Timing::untimed);  // before it gets anything to do
        for (std::size_t step = 0; step < steps; ++step) {
            for (const std::size_t hop : order) {
                const auto depth = static_cast<std::size_t>(hops_[hop].depth);
                if (step >= depth && step - depth < hops_[hop].chunks()) enqueue_chunk(hop, step - depth);
            }
        }
    }

    std::vector<StreamPoint> ends() {
        std::vector<StreamPoint> points;
        for (std::size_t target = 0; target < plan_.targets.size(); ++target) {
            const Arrival end = end_of_target(target);
            points.push_back(point(end));
            points.back().serves = plan_.targets[target].device->index();
        }
        for (const auto& [stream, newest] : used_) {
            const StreamPoint last = point({stream, newest});
            const bool known = std::any_of(points.begin(), points.end(), [&](const StreamPoint& end) {
                return end.device == last.device && end.role == last.role && end.ticket == last.ticket;
            });
            if (!known) points.push_back(last);
        }
        return points;
    }

    /// What each stream does for each target, once all is enqueued; of a traced broadcast.
    std::vector<StreamSpan> spans() const {
        std::map<std::pair<DeviceStream, std::optional<std::size_t>>, StreamSpan> spans;
        for (std::size_t i = 0; i < hops_.size(); ++i) {
            const Hop& hop = hops_[i];
            const Ticket begin = begins_[i].ticket, end = newest_[i].ticket;
            StreamSpan fresh{hop.driver->index(), hop.role, begin, end};
            fresh.is_part = true;
            if (hop.target) fresh.target = plan_.targets[*hop.target].device->index();
            StreamSpan& span = spans.try_emplace({stream_of(hop), hop.target}, fresh).first->second;
            span.begin = std::min(span.begin, begin);
            span.end = std::max(span.end, end);
            span.bytes += static_cast<std::int64_t>(hop.end - hop.begin);
        }
        std::vector<StreamSpan> found;
        for (const auto& [key, span] : spans) found.push_back(span);
        return found;
    }

    /// After an error: the home stream goes on when all others have done what they were given.
    void gather() noexcept {
        for (const auto& [stream, newest] : used_) {
            if (stream == home_) continue;
            try {
                wait(home_, {stream, stream.device->record(stream.role, Timing::untimed)});
            } catch (...) {  // one of the two is lost: nothing is left to wait for, or no device that waits
            }
        }
    }

  private:
    static StreamPoint point(const Arrival& arrival) {
        return {arrival.stream.device->index(), arrival.stream.role, arrival.ticket};
    }
    static void wait(const DeviceStream& stream, const Arrival& arrival) {
        stream.device->wait_for(stream.role, *arrival.stream.device, arrival.stream.role, arrival.ticket);
    }

    Arrival record(const DeviceStream& stream, Timing timing) {
        return {stream, used_[stream] = stream.device->record(stream.role, timing)};
    }

    static DeviceStream stream_of(const Hop& hop) { return {hop.driver, hop.role}; }

    /// Whether the first copies are not all on the home stream.
    bool starts_elsewhere() const {
        return std::any_of(hops_.begin(), hops_.end(),
                           [this](const Hop& hop) { return !hop.parent && !(stream_of(hop) == home_); });
    }

    void enqueue_chunk(std::size_t number, std::size_t chunk) {
        const Hop& hop = hops_[number];
        const DeviceStream stream = stream_of(hop);
        const bool first_use = used_.emplace(stream, 0).second;
        if (hop.parent) {
            wait(stream, newest_[*hop.parent]);
        } else if (first_use && !(stream == home_)) {
            wait(stream, {home_, start_});
        }
        if (traced_ && chunk == 0) begins_[number] = record(stream, Timing::timed);
        const std::size_t begin = hop.begin + chunk * hop.chunk;
        const Copy copy{hop.to + begin, hop.from + begin, std::min(hop.chunk, hop.end - begin)};
        if (hop.peer != nullptr) {
            hop.driver->copy_to_peer(stream.role, *hop.peer, copy);
        } else {
            hop.driver->copy(stream.role, copy);
        }
        const bool last = chunk + 1 == hop.chunks();
        if (hop.has_children || last) newest_[number] = record(stream, last ? timing_ : Timing::untimed);
    }

    /// A kernel for each hop; all of them run at once. None waits for ever, as every kind of waiting leads to what
    /// was enqueued earlier: work in front on the same stream, points of other streams, and the kernel of the hop
    /// before, which is enqueued in front of this one's or neither is. No kernel waits for what comes behind it: it
    /// needs no leave to write. What remains is room on a device. A kernel gets none before that of the hop before has
    /// nothing left to wait for but room (`begins_`), so it never keeps room from work that its own relay waits for. A
    /// device's relays run one after the other, in one order on all devices, since they are enqueued one at a time;
    /// hence what holds room where a hop wants to run are other kernels, and these end by themselves, cooperative ones
    /// too, which get their room at once or not at all.
    void enqueue_relay() {
        // No other relay comes between `begins_` and its kernel, and kernels begin in the order of what their devices
        // tell.
        static std::mutex one_at_a_time;
        const std::lock_guard lock(one_at_a_time);
        const Ticket start = home_.device->record(home_.role, Timing::untimed);
        std::vector<std::optional<RelayMark>> marks(hops_.size());
        for (std::size_t i = 0; i < hops_.size(); ++i) {
            const Hop& hop = hops_[i];
            const DeviceStream stream = stream_of(hop);
            used_.emplace(stream, 0);
            wait(stream, hop.parent ? begins_[*hop.parent] : Arrival{home_, start});
            if (hop.has_children || traced_) begins_[i] = record(stream, timing_);
            marks[i] = hop.driver->relay_to_peer(*hop.peer, {hop.to, hop.from, hop.end},
                                                 hop.parent ? marks[*hop.parent] : std::nullopt,
                                                 hop.has_children ? RelayEnd::passed_on : RelayEnd::last);
        }
        for (std::size_t i = 0; i < hops_.size(); ++i) newest_[i] = record(stream_of(hops_[i]), timing_);
    }

    /// Where the last of the copies to a target has run: the streams that bring it something are joined.
    Arrival end_of_target(std::size_t target) {
        std::vector<Arrival> arrivals;
        for (std::size_t i = 0; i < hops_.size(); ++i) {
            if (hops_[i].target == target) arrivals.push_back(newest_[i]);
        }
        if (arrivals.empty()) return record(home_, Timing::untimed);  // nothing to bring
        const Arrival& last = arrivals.back();
        const auto elsewhere = [&](const Arrival& arrival) { return !(arrival.stream == last.stream); };
        if (std::none_of(arrivals.begin(), arrivals.end(), elsewhere)) return newest_of(arrivals);
        for (const Arrival& arrival : arrivals) {
            if (elsewhere(arrival)) wait(last.stream, arrival);
        }
        return record(last.stream, Timing::untimed);
    }

    static Arrival newest_of(const std::vector<Arrival>& arrivals) {
        return *std::max_element(arrivals.begin(), arrivals.end(),
                                 [](const Arrival& a, const Arrival& b) { return a.ticket < b.ticket; });
    }

    const BroadcastPlan& plan_;
    const std::vector<Hop>& hops_;
    const bool traced_;
    const Timing timing_;  ///< of the hops' begins and ends
    const DeviceStream home_;
    Ticket start_ = 0;
    std::map<DeviceStream, Ticket> used_;  // with the newest ticket of each
    std::vector<Arrival> begins_;          // of each hop: in front of its first copy, where somebody wants to know
    std::vector<Arrival> newest_;          // of the chunks of each hop
};

}  // namespace

Enqueued enqueue_broadcast(const BroadcastPlan& plan, Spans spans) {
    if (plan.targets.empty()) return {};
    const std::vector<Hop> hops = broadcast_route(plan);
    Enqueueing enqueueing(plan, hops, spans);
    try {
        enqueueing.enqueue();
        return {enqueueing.ends(), spans == Spans::wanted ? enqueueing.spans() : std::vector<StreamSpan>()};
    } catch (...) {
        enqueueing.gather();
        throw;
    }
}

}  // namespace basalt::detail
