#include "runtime/trace_recorder.hpp"

namespace basalt::detail {

std::string tile_text(const std::array<int, 3>& tile) {
    std::string text;
    for (const int index : tile) {
        if (index < 0) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(index);
    }
    return text;
}

Trace TraceRecorder::take() {
    Trace trace;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        trace.rows.push_back({"worker " + std::to_string(row), TraceRowKind::cpu, -1});
        for (const Event& event : rows_[row].events) {
            trace.events.push_back({.name = event.name,
                                    .row = static_cast<int>(row),
                                    .begin_ns = event.begin,
                                    .end_ns = event.end,
                                    .priority = event.priority,
                                    .detail = tile_text(event.tile)});
        }
        rows_[row].events.clear();
    }
    return trace;
}

}  // namespace basalt::detail
