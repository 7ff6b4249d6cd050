#pragma once

#include <array>
#include <atomic>
#include <bit>
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
        for (auto& device : devices_) {
            if (device.streams.load(std::memory_order_relaxed) == 0) continue;
            for (auto& ticket : device.newest) ticket.store(0, std::memory_order_relaxed);
            device.streams.store(0, std::memory_order_relaxed);
        }
    }
    void add(const StreamPoint& point) {
        OfDevice& device = devices_[static_cast<std::size_t>(point.device)];
        auto& ticket = device.newest[static_cast<std::size_t>(point.role)];
        Ticket known = ticket.load(std::memory_order_relaxed);
        // relaxed: published by the decrement of `pending` (or the scope's lock) that follows
        while (known < point.ticket && !ticket.compare_exchange_weak(known, point.ticket, std::memory_order_relaxed)) {
        }
        device.streams.fetch_or(std::uint64_t{1} << static_cast<unsigned>(point.role), std::memory_order_relaxed);
    }
    /// The newest ticket of that stream; 0 where there is none.
    Ticket newest(int device, StreamRole role) const {
        return devices_[static_cast<std::size_t>(device)].newest[static_cast<std::size_t>(role)].load(
            std::memory_order_relaxed);
    }
    template <class F>
    void for_each(const F& visit) const {
        for (int device = 0; device < max_devices; ++device) {
            std::uint64_t streams = devices_[static_cast<std::size_t>(device)].streams.load(std::memory_order_relaxed);
            for (; streams != 0; streams &= streams - 1) {
                const auto role = static_cast<StreamRole>(std::countr_zero(streams));
                visit(StreamPoint{device, role, newest(device, role)});
            }
        }
    }

  private:
    struct OfDevice {
        std::atomic<std::uint64_t> streams{0};  ///< a bit for each one with a ticket
        std::array<std::atomic<Ticket>, stream_roles> newest{};
    };
    static_assert(stream_roles <= 64);
    std::array<OfDevice, max_devices> devices_{};
};

}  // namespace basalt::detail
