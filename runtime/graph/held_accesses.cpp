#include "runtime/graph/held_accesses.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>

#include "runtime/graph/datum.hpp"

namespace basalt::detail {

namespace {

/// As many are looked through faster than they are looked up.
constexpr std::uint32_t few_accesses = 8;

bool covers(const BoundAccess& held, const AccessRecord& record, Index row) {
    return held.row_begin <= row && row < held.row_end && held.col_begin <= record.col_begin &&
           held.col_end >= record.col_end && held.mode != AccessMode::reduce &&
           (writes(held.mode) || !writes(record.mode));
}

const BoundAccess* farther(const BoundAccess* a, const BoundAccess* b) {
    return a == nullptr || a->row_end < b->row_end ? b : a;
}

}  // namespace

const BoundAccess* HeldAccesses::reaching_farthest(const AccessRecord& record, Index row) {
    const BoundAccess* best = nullptr;
    if (holder_->access_count <= few_accesses) {
        const BoundAccess* held = holder_->access_begin();
        for (std::uint32_t i = 0; i < holder_->access_count; ++i) {
            if (held[i].version->datum == record.datum && covers(held[i], record, row)) best = farther(best, &held[i]);
        }
        return best;
    }
    if (table_.empty()) make_index();
    const Range& range = place_of(record.datum);
    const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(range.begin);
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(range.end);
    auto entry = std::partition_point(begin, end, [&](const Entry& e) { return e.access->row_begin <= row; });
    // upwards, as long as some access from there on or further up goes beyond the row
    while (entry != begin && (--entry)->reach > row) {
        if (covers(*entry->access, record, row)) best = farther(best, entry->access);
    }
    return best;
}

void HeldAccesses::make_index() {
    const BoundAccess* held = holder_->access_begin();
    entries_.clear();
    entries_.reserve(holder_->access_count);
    for (std::uint32_t i = 0; i < holder_->access_count; ++i) {
        entries_.push_back({held[i].version->datum, &held[i], held[i].row_end});
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        if (a.datum != b.datum) return std::less<>()(a.datum, b.datum);
        return a.access->row_begin < b.access->row_begin;
    });
    table_.resize(std::bit_ceil(2 * entries_.size()));
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Range& range = place_of(entries_[i].datum);
        if (range.datum == nullptr) {
            range = {entries_[i].datum, i, i};
        } else {
            entries_[i].reach = std::max(entries_[i].reach, entries_[i - 1].reach);
        }
        range.end = i + 1;
    }
}

/// That of the datum, or the empty one where it would be.
HeldAccesses::Range& HeldAccesses::place_of(const Datum* datum) {
    // Fibonacci hashing; data are aligned to cache lines
    auto place = static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(datum) >> 6) * 0x9e3779b97f4a7c15U >> 20);
    while (true) {
        Range& range = table_[place++ & (table_.size() - 1)];
        if (range.datum == datum || range.datum == nullptr) return range;
    }
}

}  // namespace basalt::detail
