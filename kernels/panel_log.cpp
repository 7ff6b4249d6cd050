#include "kernels/panel_log.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace basalt {

namespace {

/// The entries of one kernel's block: a reading, the states, a reading.
void add_spans(int block, const PanelLogEntry* first, const PanelLogEntry* last, std::vector<PanelLogSpan>& spans) {
    const std::int64_t begin = ~first->state, end = ~last->state;
    const auto ticks = static_cast<double>(std::max<std::int64_t>(last->clock - first->clock, 1));
    const double each = static_cast<double>(end - begin) / ticks;
    const auto time_of = [&](const PanelLogEntry& entry) {
        return begin + std::llround(each * static_cast<double>(entry.clock - first->clock));
    };
    for (const PanelLogEntry* entry = first + 1; entry != last; ++entry) {
        spans.push_back({block, static_cast<PanelState>(entry->state), time_of(*entry), time_of(entry[1])});
    }
}

}  // namespace

const char* name_of(PanelState state) {
    constexpr std::array names{"load",  "search+update", "search",   "scale",   "update", "meeting",
                               "store", "row moves",     "triangle", "product", "barrier"};
    static_assert(names.size() == static_cast<std::size_t>(PanelState::count));
    return names.at(static_cast<std::size_t>(state));
}

std::vector<PanelLogSpan> spans_of(const PanelLog& log) {
    std::vector<PanelLogSpan> spans;
    for (int block = 0; block < log.blocks; ++block) {
        const PanelLogEntry* entry = log.of_block(block);
        const PanelLogEntry* const end = entry + 1 + entry->clock;
        const auto is_reading = [](const PanelLogEntry& e) { return e.state < 0; };
        for (++entry; entry != end;) {
            const PanelLogEntry* const last = std::find_if(entry + 1, end, is_reading);
            if (last == end) break;  // the kernel has not ended
            add_spans(block, entry, last, spans);
            entry = last + 1;
        }
    }
    return spans;
}

std::int64_t lost_entries(const PanelLog& log) {
    std::int64_t lost = 0;
    for (int block = 0; block < log.blocks; ++block) lost += log.of_block(block)->state;
    return lost;
}

}  // namespace basalt
