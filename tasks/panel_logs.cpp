#include "tasks/panel_logs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <spdlog/spdlog.h>

#include "kernels/cuda/panel_plan.hpp"
#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

constexpr Index entry_words = sizeof(PanelLogEntry) / sizeof(Index);
static_assert(sizeof(PanelLogEntry) % sizeof(Index) == 0);

/// Words of a block's part of the log of a panel.
Index words(const Panel& panel) { return (PanelLog::enough_for(panel.width) + 1) * entry_words; }

/// Blocks that write to it. GPUs are alike; the panel of an emulated one is a block.
Index blocks(Runtime& runtime, const Panel& panel, Index rows) {
    const Device& device = runtime.engine().device(0);
    if (device.emulated()) return 1;
    return cuda_kernels::panel_log_blocks<double>(0, rows - panel.first, device.tuning().panels);
}

}  // namespace

PanelLogs::PanelLogs(Runtime& runtime, const std::vector<Panel>& panels, Index rows) {
    Index size = 0;
    for (const Panel& panel : panels) size += blocks(runtime, panel, rows) * words(panel);
    memory_ = PooledBuffer(runtime.engine().pinned(), static_cast<std::size_t>(size) * sizeof(Index));
    auto* next = static_cast<Index*>(memory_.data());
    for (const Panel& panel : panels) {
        const Index height = blocks(runtime, panel, rows);
        logs_.emplace_back(runtime, next, height, words(panel), "panel log");
        next += height * words(panel);
    }
}

PanelLog PanelLogs::log_at(Index* memory, Index blocks, Index words) {
    if (memory == nullptr || blocks == 0) return {};
    return {reinterpret_cast<PanelLogEntry*>(memory), static_cast<int>(blocks),
            static_cast<int>(words / entry_words) - 1};
}

/// Adds a log in the host's memory to the trace. The device's clock is asked for both ends alone: it takes its time.
void PanelLogs::record(const PanelLog& log, Engine& engine, int k, int device) {
    std::vector<BlockState> states;
    try {
        Device& clock = engine.device(device);
        const std::vector<PanelLogSpan> spans = spans_of(log);
        std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
        for (const PanelLogSpan& span : spans) {
            first = std::min(first, span.begin_ns);
            last = std::max(last, span.end_ns);
        }
        const std::int64_t begin = spans.empty() ? 0 : clock.host_time_of(first);
        const std::int64_t end = spans.empty() ? 0 : clock.host_time_of(last);
        const double rate =
            static_cast<double>(end - begin) / static_cast<double>(std::max<std::int64_t>(last - first, 1));
        const auto host_time = [&](std::int64_t time) {
            return begin + std::llround(rate * static_cast<double>(time - first));
        };
        for (const PanelLogSpan& span : spans) {
            states.push_back({span.block, name_of(span.state), host_time(span.begin_ns), host_time(span.end_ns)});
        }
    } catch (const DeviceError& error) {  // of a device that is lost, which its tasks tell
        spdlog::debug("basalt: no times for the log of a panel: {}", error.what());
    }
    engine.trace().record_blocks(device, k, states);
    const std::int64_t lost = lost_entries(log);
    if (lost > 0) spdlog::warn("basalt: the log of panel {} has no room for {} states", k, lost);
}

void PanelLogs::submit_reading(Runtime& runtime, int k, int device) const {
    if (empty()) return;
    runtime.submit({.name = "panel log", .tile = {k, -1, -1}, .step = k, .place = Place::cpu()}, read(region(k)),
                   [engine = &runtime.engine(), k, device](View<const Index> region) {
                       auto* const words = const_cast<Index*>(region.data());  // only read
                       record(log_at(words, region.rows(), region.cols()), *engine, k, device);
                   });
}

}  // namespace basalt::detail
