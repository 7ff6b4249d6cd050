#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/trace.hpp>

#include "bench/common/device_array.hpp"
#include "kernels/panel_log.hpp"

namespace bench {

/// The log of one panel in the GPU's memory.
class DevicePanelLog {
  public:
    DevicePanelLog(basalt::detail::Device& device, basalt::Index cols)
        : entries_(device, static_cast<std::size_t>(blocks) * static_cast<std::size_t>(capacity(cols) + 1)),
          log_{entries_.data(), blocks, capacity(cols)} {}

    const basalt::PanelLog& log() const { return log_; }

    /// Adds the log to the trace as rows of `name`, one for each block. Times are relative to its begin, so that
    /// designs can be compared.
    void add_to(basalt::Trace& trace, const std::string& name) const {
        std::vector<basalt::PanelLogEntry> entries = entries_.read();
        const basalt::PanelLog log{entries.data(), log_.blocks, log_.capacity};
        const std::vector<basalt::PanelLogSpan> spans = spans_of(log);
        std::int64_t begin = std::numeric_limits<std::int64_t>::max();
        for (const basalt::PanelLogSpan& span : spans) begin = std::min(begin, span.begin_ns);
        std::optional<int> last;
        for (const basalt::PanelLogSpan& span : spans) {
            if (span.block != last) {
                trace.rows.push_back({fmt::format("{} block {}", name, span.block), basalt::TraceRowKind::block, 0});
                last = span.block;
            }
            basalt::TraceEvent& event = trace.events.emplace_back();
            event.name = name_of(span.state);
            event.row = static_cast<int>(trace.rows.size()) - 1;
            event.begin_ns = span.begin_ns - begin;
            event.end_ns = span.end_ns - begin;
        }
        const std::int64_t lost = lost_entries(log);
        if (lost > 0) fmt::print(stderr, "{}: the log has no room for {} states\n", name, lost);
    }

  private:
    static constexpr int blocks = 132;
    static int capacity(basalt::Index cols) { return basalt::PanelLog::enough_for(cols); }

    const DeviceArray<basalt::PanelLogEntry> entries_;
    const basalt::PanelLog log_;
};

}  // namespace bench
