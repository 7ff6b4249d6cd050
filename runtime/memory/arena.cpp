#include "runtime/memory/arena.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "runtime/device/device.hpp"

namespace basalt::detail {

namespace {

constexpr std::size_t unit = 512;
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();  // as a limit
constexpr std::size_t chunk = std::size_t{256} << 20;
constexpr std::size_t emulated_chunk = std::size_t{1} << 20;  // small graphs in tests have several too
// Left to the driver, library workspaces and other programs when no limit is given.
constexpr std::size_t spared = std::size_t{1} << 30;

}  // namespace

Arena::Arena(Device& device, std::size_t limit, std::function<bool(TaskRef)> completed)
    : device_(device), limit_(limit == 0 ? none : limit / unit * unit), completed_(std::move(completed)) {}

Arena::~Arena() {
    for (void* memory : chunks_) device_.release(memory);
}

std::size_t Arena::rounded(std::size_t bytes) { return std::max(unit, (bytes + unit - 1) / unit * unit); }

std::size_t Arena::capacity() const {
    const std::size_t free = device_.lost() ? 0 : device_.free_bytes();
    const std::size_t spare = device_.emulated() ? 0 : spared;
    const std::size_t most = (total_ + (free > spare ? free - spare : 0)) / unit * unit;
    return std::min(limit_, most);
}

/// Bytes that it may still get from the device.
std::size_t Arena::left() const {
    const std::size_t most = capacity();
    return most > total_ ? most - total_ : 0;
}

/// The first chunk from there on that is free as a whole, and that no task uses any more.
Arena::Ranges::iterator Arena::next_unused_chunk(Ranges::iterator from) {
    for (; from != ranges_.end(); ++from) {
        Range& range = from->second;
        const auto next = std::next(from);
        if (!range.chunk_begin || !range.free || (next != ranges_.end() && !next->second.chunk_begin)) continue;
        range.users.erase_if(completed_);
        if (range.users.empty()) return from;
    }
    return from;
}

/// Unused chunks return to the device, where that gives `least` bytes more: a larger one may take their place. Returns
/// what they had.
std::size_t Arena::give_back_unused_chunks(std::size_t least) {
    std::size_t unused = 0;
    for (auto chunk = next_unused_chunk(ranges_.begin()); chunk != ranges_.end();
         chunk = next_unused_chunk(std::next(chunk))) {
        unused += chunk->second.bytes;
    }
    if (unused < least) return 0;
    for (auto chunk = next_unused_chunk(ranges_.begin()); chunk != ranges_.end();) {
        total_ -= chunk->second.bytes;
        device_.release(chunk->first);
        std::erase(chunks_, static_cast<void*>(chunk->first));
        chunk = next_unused_chunk(ranges_.erase(chunk));
    }
    return unused;
}

bool Arena::grow(std::size_t bytes) {
    if (bytes >= least_refused_) return false;
    std::size_t most = left();
    if (bytes > most && give_back_unused_chunks(bytes - most) > 0) most = left();
    if (bytes > most) {
        least_refused_ = bytes;
        return false;
    }
    // with a limit, all of it at once: nothing is lost to borders between chunks
    const std::size_t wanted =
        limit_ != none ? most : std::min(most, std::max(bytes, device_.emulated() ? emulated_chunk : chunk));
    void* memory = nullptr;
    try {
        memory = device_.allocate(wanted);
    } catch (const DeviceError& error) {
        if (!error.out_of_memory()) throw;
        refusal_ = error.what();
        least_refused_ = 0;
        return false;
    }
    chunks_.push_back(memory);
    total_ += wanted;
    ranges_.emplace(static_cast<char*>(memory), Range{.bytes = wanted, .chunk_begin = true});
    return true;
}

void Arena::prepare(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const auto holds = [&](const auto& entry) { return entry.second.free && entry.second.bytes >= size; };
    begin_reservation();
    if (std::any_of(ranges_.begin(), ranges_.end(), holds)) return;
    const std::size_t possible = std::min(size, capacity());
    if (possible > 0) grow(possible);
}

/// The smallest free range of at least this number of bytes.
Arena::Ranges::iterator Arena::best_free(std::size_t size, Used used) {
    auto best = ranges_.end();
    for (auto it = ranges_.begin(); it != ranges_.end(); ++it) {
        Range& range = it->second;
        if (!range.free || range.bytes < size) continue;
        if (best != ranges_.end() && range.bytes >= best->second.bytes) continue;
        if (used == Used::no) {
            range.users.erase_if(completed_);
            if (!range.users.empty()) continue;
        }
        best = it;
    }
    return best;
}

/// The first `size` bytes of a free range become a block.
void* Arena::cut_off(Ranges::iterator range, std::size_t size) {
    Range& block = range->second;
    if (block.bytes > size) {
        ranges_.emplace(range->first + size, Range{.bytes = block.bytes - size, .users = block.users});
    }
    block.bytes = size;
    block.free = false;
    block.users.clear();
    in_use_ += size;
    most_in_use_ = std::max(most_in_use_, in_use_);
    return range->first;
}

void* Arena::take(std::size_t bytes, TaskGroup& users) {
    const std::size_t size = rounded(bytes);
    auto best = best_free(size, Used::perhaps);
    if (best == ranges_.end() && grow(size)) best = best_free(size, Used::perhaps);
    if (best == ranges_.end()) return nullptr;
    for (const TaskRef user : best->second.users) users.push_back(user);
    return cut_off(best, size);
}

void* Arena::take_unused(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    auto best = best_free(size, Used::no);
    if (best == ranges_.end() && grow(size)) best = best_free(size, Used::no);
    return best == ranges_.end() ? nullptr : cut_off(best, size);
}

void Arena::give_back(void* block, const TaskGroup& users) {
    auto range = ranges_.find(static_cast<char*>(block));
    assert(range != ranges_.end() && !range->second.free);
    in_use_ -= range->second.bytes;
    range->second.free = true;
    range->second.users = users;
    join_with_next(range);
    if (range != ranges_.begin() && !range->second.chunk_begin) join_with_next(std::prev(range));
}

void Arena::join_with_next(Ranges::iterator range) {
    const auto next = std::next(range);
    if (next == ranges_.end() || next->second.chunk_begin || !next->second.free || !range->second.free) return;
    range->second.bytes += next->second.bytes;
    for (const TaskRef user : next->second.users) range->second.users.push_back(user);
    range->second.users.erase_if(completed_);
    // take() gave both parts of what was one range all of its users: without this they would double each time
    range->second.users.erase_duplicates();
    ranges_.erase(next);
}

}  // namespace basalt::detail
