#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device/device.hpp"

namespace basalt::detail {

inline constexpr int max_devices = 8;

/// A point in a stream of a device.
struct StreamPoint {
    int device = -1;
    StreamRole role = StreamRole::compute;
    Ticket ticket = 0;
    int serves = -1;  ///< the device whose memory is written, where that is another one's
};

/// What a stream did from one timed ticket to another: a bar of the trace.
struct StreamSpan {
    int device = -1;
    StreamRole role = StreamRole::compute;
    Ticket begin = 0;
    Ticket end = 0;
    std::int64_t bytes = 0;     ///< that it copied
    std::optional<int> target;  ///< in a broadcast: the device whose memory it wrote; -1: the host's
};

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

class Driver;

/// What a task that runs on a device has beside a Task. Pooled and never unmapped, as tasks are: a submitter may
/// look at `ends` of a task that completes meanwhile, and recognises that by the task's generation.
struct DeviceWork {
    int device = 0;  ///< whose driver enqueues it
    StreamRole role = StreamRole::compute;
    StreamPoints waits;
    /// For the runtime's own work: enqueues it and, where that is not all on `role`, tells on which streams. Empty: the
    /// task's kernel.
    std::function<void(Driver&, Enqueued&)> operation;
    std::function<void()> failed;  ///< called when it did not succeed; may be empty
    std::int64_t bytes = 0;        ///< that a copy moves; a broadcast's spans tell theirs

    /// Predecessors on devices that have not completed. Its own completion waits for theirs, although the streams are
    /// in order: whoever has waited for a task may take down what its predecessors' accesses name.
    std::atomic<std::int32_t> unfinished{0};

    /// Where it ends, set before the task counts as enqueued. Written by the driver, read by submitters.
    static constexpr std::size_t most_ends = 2 * max_devices;  // of a broadcast: see enqueue_broadcast()
    std::atomic<std::uint32_t> end_count{0};
    std::array<std::atomic<std::uint64_t>, most_ends> ends{};

    void publish(const std::vector<StreamPoint>& points) {
        for (std::size_t i = 0; i < points.size(); ++i) ends[i].store(pack(points[i]), std::memory_order_release);
        end_count.store(static_cast<std::uint32_t>(points.size()), std::memory_order_release);
    }
    /// The ends that matter to `successor`, a task that uses one device's memory alone or not: of a broadcast, what
    /// comes to that device and what is passed on from it. Returns their number.
    std::size_t ends_for(const DeviceWork& successor, std::array<StreamPoint, most_ends>& found) const;
    /// Of a broadcast, it waits only for what concerns its device's memory. Not so a task whose place in the order of a
    /// datum's users others rely on: one that writes what is broadcast, and transfers.
    std::atomic<bool> one_memory{true};
    /// A broadcast, of which others may wait for a part.
    std::atomic<bool> has_parts{false};

  private:
    static std::uint64_t pack(const StreamPoint& point) {
        return point.ticket << 24 | static_cast<std::uint64_t>(point.serves + 1) << 16 |
               static_cast<std::uint64_t>(point.device) << 8 | static_cast<std::uint64_t>(point.role);
    }
    static StreamPoint unpack(std::uint64_t word) {
        return {static_cast<int>(word >> 8 & 0xff), static_cast<StreamRole>(word & 0xff), word >> 24,
                static_cast<int>(word >> 16 & 0xff) - 1};
    }
};

inline std::size_t DeviceWork::ends_for(const DeviceWork& successor, std::array<StreamPoint, most_ends>& found) const {
    std::size_t kept = 0;
    const std::size_t count = std::min<std::size_t>(end_count.load(std::memory_order_acquire), most_ends);
    for (std::size_t i = 0; i < count; ++i) {
        // acquire: see TaskSubmission::add_edge()
        const StreamPoint end = unpack(ends[i].load(std::memory_order_acquire));
        const bool concerned = end.device == successor.device || end.serves == successor.device;
        const bool all = !successor.one_memory.load(std::memory_order_relaxed);
        if (concerned || end.serves < 0 || all) found[kept++] = end;
    }
    return kept;
}

/// Hands out DeviceWork. Thread-safe.
class DeviceWorkPool {
  public:
    DeviceWork& take() {
        const std::lock_guard guard(lock_);
        if (free_.empty()) {
            all_.push_back(std::make_unique<DeviceWork>());
            free_.push_back(all_.back().get());
        }
        DeviceWork& work = *free_.back();
        free_.pop_back();
        work.waits.clear();
        work.bytes = 0;
        work.unfinished.store(0, std::memory_order_relaxed);
        work.one_memory.store(true, std::memory_order_relaxed);
        work.has_parts.store(false, std::memory_order_relaxed);
        work.end_count.store(0, std::memory_order_release);
        return work;
    }
    void give_back(DeviceWork& work) {
        work.operation = nullptr;
        work.failed = nullptr;
        const std::lock_guard guard(lock_);
        free_.push_back(&work);
    }

  private:
    std::mutex lock_;  // guards both
    std::vector<std::unique_ptr<DeviceWork>> all_;
    std::vector<DeviceWork*> free_;
};

}  // namespace basalt::detail
