#include "io/trace/trace_summary.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "io/trace/device_timeline.hpp"

namespace basalt {

namespace {

/// Whether a bar is a copy or computation, by the rules of summarize().
bool is_copy(const TraceRow& row, const TraceEvent& event) {
    return row.kind == TraceRowKind::copy || (row.kind == TraceRowKind::cpu && event.kind == TraceKind::copy);
}

bool inside_kernel(const Trace& trace, const TraceEvent& event) {
    return trace.rows[static_cast<std::size_t>(event.row)].kind == TraceRowKind::block;
}

Interval span_of(const Trace& trace) {
    if (trace.events.empty()) return {};
    Interval span{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (const TraceEvent& event : trace.events) {
        span.begin = std::min(span.begin, event.begin_ns);
        span.end = std::max(span.end, event.end_ns);
    }
    return span;
}

/// Duration of every event without the events nested in it on the same core: a task that waits for its children runs
/// other tasks meanwhile. Bars of one device are never nested; they overlap because the device has several streams.
std::vector<std::int64_t> own_times(const Trace& trace) {
    const auto& events = trace.events;
    std::vector<std::size_t> order(events.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto key = [&](std::size_t i) {
            return std::tuple(events[i].row, events[i].begin_ns, -events[i].end_ns);
        };
        return key(a) < key(b);
    });
    std::vector<std::int64_t> own(events.size());
    std::vector<std::size_t> open;  // the events around the present one, outermost first
    for (const std::size_t i : order) {
        const TraceEvent& event = events[i];
        own[i] = event.end_ns - event.begin_ns;
        if (trace.rows[static_cast<std::size_t>(event.row)].kind != TraceRowKind::cpu) continue;
        while (!open.empty() &&
               (events[open.back()].row != event.row || events[open.back()].end_ns <= event.begin_ns)) {
            open.pop_back();
        }
        if (!open.empty()) own[open.back()] -= std::min(event.end_ns, events[open.back()].end_ns) - event.begin_ns;
        open.push_back(i);
    }
    return own;
}

std::vector<RowBusy> cores_of(const Trace& trace) {
    std::vector<std::vector<Interval>> bars(trace.rows.size());
    for (const TraceEvent& event : trace.events) {
        bars[static_cast<std::size_t>(event.row)].push_back({event.begin_ns, event.end_ns});
    }
    std::vector<RowBusy> cores;
    for (std::size_t row = 0; row < trace.rows.size(); ++row) {
        if (trace.rows[row].kind != TraceRowKind::cpu) continue;
        const auto count = static_cast<std::int64_t>(bars[row].size());
        cores.push_back({trace.rows[row].name, length(united(std::move(bars[row]))), count});
    }
    return cores;
}

std::vector<DeviceSummary> devices_of(const Trace& trace, Interval span, std::size_t waits) {
    std::set<int> numbers;
    for (const TraceRow& row : trace.rows) {
        if (row.kind == TraceRowKind::compute || row.kind == TraceRowKind::copy) numbers.insert(row.device.value());
    }
    std::vector<DeviceSummary> devices;
    if (numbers.empty()) return devices;
    const Predecessors predecessors(trace);
    for (const int device : numbers) {
        devices.push_back(DeviceTimeline(trace, predecessors, device).summary(span, waits));
    }
    return devices;
}

std::vector<NameTime> names_of(const Trace& trace, const std::vector<std::int64_t>& own) {
    std::map<std::pair<std::string_view, TraceRowKind>, NameTime> times;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const TraceEvent& event = trace.events[i];
        if (inside_kernel(trace, event)) continue;
        const TraceRowKind where = trace.rows[static_cast<std::size_t>(event.row)].kind;
        NameTime& time = times[{event.name, where}];
        ++time.count;
        time.total_ns += own[i];
        time.longest_ns = std::max(time.longest_ns, own[i]);
    }
    std::vector<NameTime> result;
    for (auto& [key, time] : times) {
        time.name = key.first;
        time.where = key.second;
        result.push_back(std::move(time));
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const NameTime& a, const NameTime& b) { return a.total_ns > b.total_ns; });
    return result;
}

std::vector<StepTime> steps_of(const Trace& trace, const std::vector<std::int64_t>& own, std::int64_t origin) {
    std::map<std::optional<int>, StepTime> steps;  // those of no step first
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const TraceEvent& event = trace.events[i];
        if (inside_kernel(trace, event)) continue;
        const TraceRow& row = trace.rows[static_cast<std::size_t>(event.row)];
        const std::int64_t begin = event.begin_ns - origin;
        StepTime& step = steps.try_emplace(event.step, StepTime{event.step, 0, begin, begin, 0, 0, 0}).first->second;
        ++step.count;
        step.begin_ns = std::min(step.begin_ns, begin);
        step.end_ns = std::max(step.end_ns, event.end_ns - origin);
        (is_copy(row, event)                 ? step.copy_ns
         : row.kind == TraceRowKind::compute ? step.compute_ns
                                             : step.cpu_ns) += own[i];
    }
    std::vector<StepTime> result;
    for (const auto& [number, step] : steps) result.push_back(step);
    return result;
}

std::vector<BlockStateTime> block_states_of(const Trace& trace) {
    std::map<std::string_view, BlockStateTime> times;
    for (const TraceEvent& event : trace.events) {
        if (!inside_kernel(trace, event)) continue;
        BlockStateTime& time = times[event.name];
        time.name = event.name;
        ++time.count;
        time.total_ns += event.end_ns - event.begin_ns;
        time.longest_ns = std::max(time.longest_ns, event.end_ns - event.begin_ns);
    }
    std::vector<BlockStateTime> result;
    for (auto& [name, time] : times) result.push_back(std::move(time));
    std::stable_sort(result.begin(), result.end(),
                     [](const BlockStateTime& a, const BlockStateTime& b) { return a.total_ns > b.total_ns; });
    return result;
}

/// "from host" for the row "gpu 1 from host" if a compute row of that device has the name "gpu 1".
std::string direction_of(const Trace& trace, const TraceRow& row) {
    if (row.kind == TraceRowKind::cpu) return "on cores";
    for (const TraceRow& device : trace.rows) {
        const std::string prefix = device.name + ' ';
        if (device.kind == TraceRowKind::compute && device.device == row.device && row.name.rfind(prefix, 0) == 0)
            return row.name.substr(prefix.size());
    }
    return row.name;
}

std::vector<CopyTime> directions_of(const Trace& trace) {
    struct Copies {
        CopyTime time;
        std::vector<Interval> bars;
    };
    std::vector<std::string> directions;
    for (const TraceRow& row : trace.rows) directions.push_back(direction_of(trace, row));
    std::map<std::pair<std::string_view, std::optional<int>>, Copies> copies;
    for (const TraceEvent& event : trace.events) {
        const auto index = static_cast<std::size_t>(event.row);
        const TraceRow& row = trace.rows[index];
        if (!is_copy(row, event)) continue;
        Copies& entry = copies[{directions[index], row.device}];
        ++entry.time.count;
        entry.time.bytes += event.bytes;
        entry.bars.push_back({event.begin_ns, event.end_ns});
    }
    std::vector<CopyTime> result;
    for (auto& [key, entry] : copies) {
        entry.time.direction = key.first;
        entry.time.device = key.second;
        entry.time.busy_ns = length(united(std::move(entry.bars)));
        result.push_back(std::move(entry.time));
    }
    return result;
}

std::vector<SpanTime> spans_of(const Trace& trace) {
    std::map<std::string_view, SpanTime> times;
    for (const TraceSpan& span : trace.spans) {
        SpanTime& time = times[span.name];
        time.name = span.name;
        ++time.count;
        time.total_ns += span.end_ns - span.begin_ns;
        time.longest_ns = std::max(time.longest_ns, span.end_ns - span.begin_ns);
    }
    std::vector<SpanTime> result;
    for (auto& [name, time] : times) result.push_back(std::move(time));
    std::stable_sort(result.begin(), result.end(),
                     [](const SpanTime& a, const SpanTime& b) { return a.total_ns > b.total_ns; });
    return result;
}

std::vector<CounterValues> counters_of(const Trace& trace) {
    std::map<std::string_view, std::pair<CounterValues, std::int64_t>> counters;  // with the time of the last value
    for (const TraceCounter& counter : trace.counters) {
        const auto [entry, is_new] = counters.try_emplace(counter.name);
        auto& [values, last_ns] = entry->second;
        if (is_new) values = {counter.name, 0, counter.value, counter.value, counter.value};
        if (is_new || counter.time_ns >= last_ns) {
            last_ns = counter.time_ns;
            values.last = counter.value;
        }
        ++values.count;
        values.least = std::min(values.least, counter.value);
        values.most = std::max(values.most, counter.value);
    }
    std::vector<CounterValues> result;
    for (auto& [name, entry] : counters) result.push_back(std::move(entry.first));
    return result;
}

}  // namespace

TraceSummary summarize(const Trace& trace, std::size_t waits) {
    TraceSummary summary;
    const Interval span = span_of(trace);
    summary.begin_ns = span.begin;
    summary.span_ns = span.end - span.begin;
    for (const TraceEvent& event : trace.events) {
        if (inside_kernel(trace, event)) continue;
        ++(is_copy(trace.rows[static_cast<std::size_t>(event.row)], event) ? summary.copies : summary.tasks);
    }
    const std::vector<std::int64_t> own = own_times(trace);
    summary.cores = cores_of(trace);
    summary.devices = devices_of(trace, span, waits);
    summary.names = names_of(trace, own);
    summary.steps = steps_of(trace, own, span.begin);
    summary.directions = directions_of(trace);
    summary.blocks = std::count_if(trace.rows.begin(), trace.rows.end(),
                                   [](const TraceRow& row) { return row.kind == TraceRowKind::block; });
    summary.block_states = block_states_of(trace);
    summary.spans = spans_of(trace);
    summary.counters = counters_of(trace);
    return summary;
}

}  // namespace basalt
