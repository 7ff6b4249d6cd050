#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/stream_points.hpp"

namespace basalt::detail {

/// What an operation of the runtime's own gets when its task's turn on a device has come.
struct DeviceTurn {
    Device& device;
    Spans spans;
    Enqueued& streams;  ///< filled in where the work is not all on the task's stream
};

/// State of a task that runs on a device, in addition to its Task. Pooled and never unmapped, as tasks are: a submitter
/// may look at `ends` of a task that completes meanwhile, and recognises that by the task's generation.
struct DeviceWork {
    int device = 0;  ///< whose driver enqueues it
    StreamRole role = StreamRole::compute;
    /// Its driver chooses a stream of the role's pool, and `role` is that one from then on.
    bool any_stream = false;
    std::uint64_t order = 0;  ///< larger than those of all tasks before it in program order
    StreamPoints waits;
    /// Work of the runtime's own: enqueues it. Empty: the task's kernel is the work.
    std::function<void(const DeviceTurn&)> operation;
    std::function<void()> failed;  ///< called when it did not succeed; may be empty
    std::int64_t bytes = 0;        ///< that a copy moves; a broadcast's spans tell theirs

    /// Predecessors on devices that have not completed. Its own completion waits for theirs, although the streams are
    /// in order: a thread that has waited for a task may free the data that its predecessors access.
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
        return point.ticket << 24 | static_cast<std::uint64_t>(point.serves ? *point.serves + 1 : 0) << 16 |
               static_cast<std::uint64_t>(point.device) << 8 | static_cast<std::uint64_t>(point.role);
    }
    static StreamPoint unpack(std::uint64_t word) {
        const auto serves = static_cast<int>(word >> 16 & 0xff);
        return {static_cast<int>(word >> 8 & 0xff), static_cast<StreamRole>(word & 0xff), word >> 24,
                serves > 0 ? std::optional(serves - 1) : std::nullopt};
    }
};

inline std::size_t DeviceWork::ends_for(const DeviceWork& successor, std::array<StreamPoint, most_ends>& found) const {
    std::size_t kept = 0;
    const std::size_t count = std::min<std::size_t>(end_count.load(std::memory_order_acquire), most_ends);
    for (std::size_t i = 0; i < count; ++i) {
        // acquire: see NewTask::add_edge()
        const StreamPoint end = unpack(ends[i].load(std::memory_order_acquire));
        const bool concerned = end.device == successor.device || end.serves == successor.device;
        const bool all = !successor.one_memory.load(std::memory_order_relaxed);
        if (concerned || !end.serves || all) found[kept++] = end;
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
        work.any_stream = false;
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
