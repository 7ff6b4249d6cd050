#include "runtime/drivers/stream_pool.hpp"

namespace basalt::detail {

namespace {

constexpr std::int64_t most_ahead_ns = 500'000'000;
constexpr std::size_t most_in_flight = 256;

}  // namespace

StreamPool::StreamPool(Device& device, int most) : device_(device) {
    for (int role = 0; role < named_streams; ++role) streams_.push_back(static_cast<StreamRole>(role));
    open_.fill(1);
    most_.fill(most);
}

bool StreamPool::has_room(StreamRole stream) const {
    return load(stream).ahead_ns < most_ahead_ns && load(stream).tasks < most_in_flight;
}

bool StreamPool::has_room_in_pool(StreamRole stream) const {
    return load(stream).tasks == 0 || (all_ahead_ns_ < most_ahead_ns && has_room(stream));
}

std::optional<StreamRole> StreamPool::choose(StreamRole first, const StreamPoints& waits) {
    if (const auto stream = behind_predecessor(first, waits)) return stream;
    if (const auto stream = unused(first)) return stream;
    const StreamRole stream = least_used(first);
    return has_room_in_pool(stream) ? std::optional(stream) : std::nullopt;
}

/// Of several, the one with most work: it is behind them all in any case, and the others are free for other tasks
/// sooner.
std::optional<StreamRole> StreamPool::behind_predecessor(StreamRole first, const StreamPoints& waits) const {
    std::optional<StreamRole> best;
    for (int number = 0; number < open_[static_cast<std::size_t>(first)]; ++number) {
        const StreamRole stream = stream_of_pool(first, number);
        const Ticket tail = load(stream).tail;
        if (tail == 0 || waits.newest(device_.index(), stream) != tail) continue;
        if (!best || load(stream).ahead_ns > load(*best).ahead_ns) best = stream;
    }
    return best;
}

std::optional<StreamRole> StreamPool::unused(StreamRole first) {
    int& open = open_[static_cast<std::size_t>(first)];
    int& most = most_[static_cast<std::size_t>(first)];
    for (int number = 0; number < open; ++number) {
        const StreamRole stream = stream_of_pool(first, number);
        if (load(stream).tasks == 0) return stream;
    }
    if (open == most) return std::nullopt;
    const StreamRole fresh = stream_of_pool(first, open);
    if (!device_.open(fresh)) {
        most = open;
        return std::nullopt;
    }
    ++open;
    streams_.push_back(fresh);
    return fresh;
}

StreamRole StreamPool::least_used(StreamRole first) const {
    StreamRole best = first;
    for (int number = 1; number < open_[static_cast<std::size_t>(first)]; ++number) {
        const StreamRole stream = stream_of_pool(first, number);
        const Load &a = load(stream), &b = load(best);
        if (a.ahead_ns < b.ahead_ns || (a.ahead_ns == b.ahead_ns && a.tasks < b.tasks)) best = stream;
    }
    return best;
}

void StreamPool::enqueued(StreamRole stream, Ticket end, std::int64_t expected_ns) {
    Load& grown = load(stream);
    grown.tail = end;
    ++grown.tasks;
    grown.ahead_ns += expected_ns;
    all_ahead_ns_ += expected_ns;
}

void StreamPool::completed(StreamRole stream, std::int64_t expected_ns) {
    Load& shrunk = load(stream);
    --shrunk.tasks;
    shrunk.ahead_ns -= expected_ns;
    all_ahead_ns_ -= expected_ns;
}

}  // namespace basalt::detail
