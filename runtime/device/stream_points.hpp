#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/device.hpp"

namespace basalt::detail {

inline constexpr int max_devices = 8;

/// A point in a stream of a device.
struct StreamPoint {
    int device = 0;
    StreamRole role = StreamRole::compute;
    Ticket ticket = 0;
    std::optional<int> serves{};  ///< the device whose memory is written, where that is another one's
};

/// What a stream did from one timed ticket to another: a bar of the trace.
struct StreamSpan {
    int device = 0;
    StreamRole role = StreamRole::compute;
    Ticket begin = 0;
    Ticket end = 0;
    std::int64_t bytes = 0;       ///< that it copied
    bool is_part = false;         ///< of a broadcast, which has a span for each stream and each memory that it writes
    std::optional<int> target{};  ///< of such a part: the device whose memory it wrote; empty: the host's
};

/// Whether Enqueued::spans are filled in.
enum class Spans : std::uint8_t { unwanted, wanted };

/// What a driver keeps of work that it has enqueued.
struct Enqueued {
    std::vector<StreamPoint> ends;  ///< behind all of them it has run
    std::vector<StreamSpan> spans;  ///< what its streams do; empty where nothing is traced
};

/// The newest ticket of each stream of each device that a task has to wait for; older ones are implied.
/// add() may be called by several threads at once; reading happens after all of them.
class StreamPoints {
  public:
    void clear() {
        for (auto& ticket : newest_) ticket.store(0, std::memory_order_relaxed);
    }
    void add(const StreamPoint& point) {
        auto& ticket = newest_[index(point.device, point.role)];
        Ticket known = ticket.load(std::memory_order_relaxed);
        // relaxed: published by the decrement of `pending` (or the scope's lock) that follows
        while (known < point.ticket && !ticket.compare_exchange_weak(known, point.ticket, std::memory_order_relaxed)) {
        }
    }
    template <class F>
    void for_each(const F& visit) const {
        for (std::size_t i = 0; i < newest_.size(); ++i) {
            const Ticket ticket = newest_[i].load(std::memory_order_relaxed);
            if (ticket == 0) continue;
            visit(StreamPoint{static_cast<int>(i / stream_roles), static_cast<StreamRole>(i % stream_roles), ticket});
        }
    }

  private:
    static std::size_t index(int device, StreamRole role) {
        return static_cast<std::size_t>(device) * stream_roles + static_cast<std::size_t>(role);
    }
    std::array<std::atomic<Ticket>, max_devices * stream_roles> newest_{};
};

}  // namespace basalt::detail
