#include "runtime/device/broadcast_route.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace basalt::detail {

namespace {

constexpr std::size_t alignment = 4096;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Slice {
    std::size_t begin;
    std::size_t end;
};

class Route {
  public:
    explicit Route(const BroadcastPlan& plan)
        : plan_(plan), links_((plan.source != nullptr ? plan.source : plan.targets.front().device)->tuning().links) {}

    std::vector<Hop> make() {
        if (plan_.bytes == 0) return {};
        if (plan_.source != nullptr) {
            start_from_device();
        } else if (plan_.targets.size() > 1 && shares_pay() && targets_form_a_ring()) {
            share_out_from_host();
        } else {
            send_from_host();
        }
        cut_into_chunks();
        return hops_;
    }

  private:
    using Parent = std::optional<std::size_t>;

    Device& target(std::size_t i) const { return *plan_.targets[i].device; }
    void* memory_of(std::size_t i) const { return plan_.targets[i].to; }
    Slice everything() const { return {0, plan_.bytes}; }
    bool is_chunked_by_hand() const { return plan_.chunk_bytes != 0; }

    std::size_t add(Hop hop, Parent parent) {
        if (parent) {
            hop.parent = parent;
            hop.depth = hops_[*parent].depth + 1;
            hops_[*parent].has_children = true;
        }
        hops_.push_back(hop);
        return hops_.size() - 1;
    }
    std::size_t add_from_host(const void* from, std::size_t i, Parent parent, Slice slice) {
        return add({&target(i), StreamRole::from_host, nullptr, static_cast<const std::byte*>(from),
                    static_cast<std::byte*>(memory_of(i)), i, slice.begin, slice.end, slice.end - slice.begin},
                   parent);
    }
    std::size_t add_to_host(Device& device, const void* from, void* to) {
        return add({&device, StreamRole::to_host, nullptr, static_cast<const std::byte*>(from),
                    static_cast<std::byte*>(to), std::nullopt, 0, plan_.bytes, plan_.bytes},
                   {});
    }
    std::size_t add_from_peer(Device& sender, const void* from, std::size_t i, Parent parent, Slice slice) {
        return add({&sender, StreamRole::peer, &target(i), static_cast<const std::byte*>(from),
                    static_cast<std::byte*>(memory_of(i)), i, slice.begin, slice.end, slice.end - slice.begin},
                   parent);
    }

    void start_from_device() {
        const bool ring = !plan_.from_source_only && (is_chunked_by_hand() || plan_.bytes >= links_.least_ring_bytes);
        Parent to_host;
        std::size_t previous = 0;
        for (std::size_t i = 0; i < plan_.targets.size(); ++i) {
            if (ring && i > 0 && target(i - 1).reaches(target(i))) {
                previous = add_from_peer(target(i - 1), memory_of(i - 1), i, previous, everything());
            } else if (plan_.source->reaches(target(i)) || plan_.through_host == nullptr) {
                previous = add_from_peer(*plan_.source, plan_.from, i, {}, everything());
            } else {
                if (!to_host) to_host = add_to_host(*plan_.source, plan_.from, plan_.through_host);
                previous = add_from_host(plan_.through_host, i, to_host, everything());
            }
        }
    }

    void send_from_host() {
        for (std::size_t i = 0; i < plan_.targets.size(); ++i) add_from_host(plan_.from, i, {}, everything());
    }

    bool shares_pay() const {
        return !plan_.from_source_only &&
               (is_chunked_by_hand() || plan_.bytes >= plan_.targets.size() * links_.least_share_bytes);
    }

    bool targets_form_a_ring() const {
        const std::size_t count = plan_.targets.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (!target(i).reaches(target((i + 1) % count))) return false;
        }
        return true;
    }

    /// Target i gets the i-th slice, from where it goes round to the one in front of i.
    void share_out_from_host() {
        const std::size_t count = plan_.targets.size();
        const std::size_t share = rounded_up((plan_.bytes + count - 1) / count, alignment);
        for (std::size_t first = 0; first * share < plan_.bytes; ++first) {
            const Slice slice{first * share, std::min((first + 1) * share, plan_.bytes)};
            std::size_t previous = add_from_host(plan_.from, first, {}, slice);
            for (std::size_t step = 1; step < count; ++step) {
                const std::size_t sender = (first + step - 1) % count;
                previous = add_from_peer(target(sender), memory_of(sender), (sender + 1) % count, previous, slice);
            }
        }
    }

    void cut_into_chunks() {
        int deepest = 0;
        for (const Hop& hop : hops_) deepest = std::max(deepest, hop.depth);
        if (deepest == 0) return;
        if (may_be_relayed()) {
            for (Hop& hop : hops_) hop.role = StreamRole::relay;
            return;
        }
        const auto most_hops = static_cast<std::size_t>(deepest) + 1;
        for (Hop& hop : hops_) {
            hop.chunk = is_chunked_by_hand()
                            ? plan_.chunk_bytes
                            : broadcast_chunk(links_, hop.end - hop.begin, most_hops,
                                              plan_.source == nullptr ? StreamRole::from_host : StreamRole::peer);
        }
    }

    /// Kernels pass on smaller chunks than copies can, but they occupy multiprocessors that other kernels could use.
    bool may_be_relayed() const {
        const auto ready = [this](Device& device) {
            return device.tuning().links.relay == links_.relay && device.is_idle();
        };
        return plan_.source != nullptr && links_.relay.blocks > 0 && !is_chunked_by_hand() &&
               std::all_of(hops_.begin(), hops_.end(), [&](const Hop& hop) {
                   return hop.peer != nullptr && hop.driver->reaches(*hop.peer) &&
                          fit_for_relays({hop.to, hop.from, plan_.bytes}) && ready(*hop.driver) && ready(*hop.peer);
               });
    }

    const BroadcastPlan& plan_;
    const GpuTuning::Links& links_;
    std::vector<Hop> hops_;
};

}  // namespace

std::vector<Hop> broadcast_route(const BroadcastPlan& plan) {
    return plan.targets.empty() ? std::vector<Hop>() : Route(plan).make();
}

std::size_t broadcast_chunk(const GpuTuning::Links& links, std::size_t bytes, std::size_t hops, StreamRole first_hop) {
    if (hops < 2) return std::max(bytes, alignment);
    const double start = first_hop == StreamRole::from_host ? links.host_chunk_bytes : links.peer_chunk_bytes;
    const double best = std::sqrt(static_cast<double>(bytes) * start / static_cast<double>(hops - 1));
    return rounded_up(static_cast<std::size_t>(best) + 1, alignment);
}

}  // namespace basalt::detail
