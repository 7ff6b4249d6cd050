#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/stream_points.hpp"

namespace basalt::detail {

/// How much is enqueued on the streams of a device, and on which of them a task goes whose stream is not given. There
/// is a pool of streams for each of two priorities; a pool's streams are made when they are first needed.
///
/// A task goes behind one that it waits for if nothing is behind that yet: a chain stays in one stream, without events.
/// Other tasks get a stream on which nothing is, or else the one with the least work.
///
/// Used by the driver's thread alone.
class StreamPool {
  public:
    /// Up to `most` streams of each priority.
    StreamPool(Device& device, int most);

    /// Work enqueued ahead is bounded, so that a cancelled graph ends soon: in each stream by about half a second and
    /// by a number of tasks. What the driver chooses a stream for is bounded by the same time in all streams together,
    /// except on streams that have nothing to do.
    bool has_room(StreamRole stream) const;
    bool has_room_in_pool(StreamRole stream) const;

    /// Where a task of the pool goes that waits for these points. The stream may have no room: then the task waits for
    /// that one stream. Empty: it would go anywhere, and there is no room.
    std::optional<StreamRole> choose(StreamRole first, const StreamPoints& waits);

    /// A task that is expected to take so long has its end at the ticket, the newest of the stream. Ticket 0: nothing
    /// may go behind it.
    void enqueued(StreamRole stream, Ticket end, std::int64_t expected_ns);
    /// Another task does not go behind the stream's last one any more: one that has to wait for room will.
    void claim(StreamRole stream) { load(stream).tail = 0; }
    void completed(StreamRole stream, std::int64_t expected_ns);

    /// The streams that are there, in the order in which they were made; at first all named ones.
    const std::vector<StreamRole>& streams() const { return streams_; }

  private:
    struct Load {
        Ticket tail = 0;  ///< where the newest task ends
        std::size_t tasks = 0;
        std::int64_t ahead_ns = 0;  ///< of what is enqueued and has not completed, as far as is known
    };
    const Load& load(StreamRole stream) const { return loads_[static_cast<std::size_t>(stream)]; }
    Load& load(StreamRole stream) { return loads_[static_cast<std::size_t>(stream)]; }
    std::optional<StreamRole> behind_predecessor(StreamRole first, const StreamPoints& waits) const;
    std::optional<StreamRole> unused(StreamRole first);
    StreamRole least_used(StreamRole first) const;

    Device& device_;
    std::vector<StreamRole> streams_;
    std::array<int, stream_pools> open_;  ///< streams of each pool
    std::array<int, stream_pools> most_;
    std::array<Load, stream_roles> loads_{};
    std::int64_t all_ahead_ns_ = 0;
};

}  // namespace basalt::detail
