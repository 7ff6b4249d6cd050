#include "tasks/lu/panel_logs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <spdlog/spdlog.h>

#include "kernels/cuda/panel/plan.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt::detail {

namespace {

constexpr Index entry_words = sizeof(PanelLogEntry) / sizeof(Index);
static_assert(sizeof(PanelLogEntry) % sizeof(Index) == 0);

/// Thread blocks that write to the log. All GPUs are alike; the panel of an emulated one counts as one block.
Index blocks(const Runtime& runtime, const Panel& panel, Index rows) {
    const Device& device = gpus_of(runtime).device(0);
    if (device.emulated()) return 1;
    return cuda_kernels::panel_log_blocks<double>(0, rows - panel.first, device.tuning().panels);
}

}  // namespace

ScratchShape PanelLogs::shape(const Runtime& runtime, const Panel& panel, Index rows) {
    return {.name = "panel log",
            .rows = blocks(runtime, panel, rows),
            .cols = (PanelLog::enough_for(panel.width) + 1) * entry_words,
            .count = 1,
            .on_a_gpu = 1};
}

PanelLog PanelLogs::log_at(Index* memory, Index blocks, Index words) {
    if (memory == nullptr || blocks == 0) return {};
    return {reinterpret_cast<PanelLogEntry*>(memory), static_cast<int>(blocks),
            static_cast<int>(words / entry_words) - 1};
}

/// Adds a log in the host's memory to the trace. Asking the device's clock takes long, so it is asked for the first and
/// the last time only.
void PanelLogs::record(const PanelLog& log, const Runtime& runtime, int k, int device) {
    std::vector<BlockState> states;
    try {
        Device& clock = gpus_of(runtime).device(device);
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
    trace_of(runtime).record_blocks(device, k, states);
    const std::int64_t lost = lost_entries(log);
    if (lost > 0) spdlog::warn("basalt: the log of panel {} has no room for {} states", k, lost);
}

void PanelLogs::submit_reading(Runtime& runtime, int k, int device) const {
    if (empty()) return;
    runtime.submit({.name = "panel log", .tile = {k}, .step = k, .place = Place::cpu()}, read(region(k)),
                   [&runtime, k, device](View<const Index> region) {
                       auto* const words = const_cast<Index*>(region.data());  // only read
                       record(log_at(words, region.rows(), region.cols()), runtime, k, device);
                   });
}

}  // namespace basalt::detail
