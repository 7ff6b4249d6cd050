#include "apps/trace/json.hpp"

#include <array>
#include <optional>

namespace basalt {

namespace {

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// Null if `whole` is 0.
JsonRecord share(std::int64_t part, std::int64_t whole) {
    if (whole <= 0) return {};
    return static_cast<double>(part) / static_cast<double>(whole);
}

JsonRecord number_or_null(std::optional<int> number) { return number ? JsonRecord(*number) : JsonRecord(); }

JsonRecord to_json(const RowBusy& row, std::int64_t span_ns) {
    return {{"row", row.name},
            {"tasks", row.count},
            {"seconds", seconds(row.busy_ns)},
            {"busy", share(row.busy_ns, span_ns)}};
}

JsonRecord to_json(const GapStatistics& gaps) {
    return {{"count", gaps.count},
            {"median_us", gaps.median_ns * 1e-3},
            {"p90_us", gaps.percentile90_ns * 1e-3},
            {"max_us", static_cast<double>(gaps.longest_ns) * 1e-3},
            {"sum_us", static_cast<double>(gaps.total_ns) * 1e-3}};
}

JsonRecord to_json(const DependentGaps& gaps) {
    JsonRecord json = to_json(gaps.counted);
    json["dependent_tasks"] = gaps.tasks;
    json["busy_between"] = gaps.busy_between;
    json["early"] = gaps.early;
    json["after_elsewhere"] = to_json(gaps.after_elsewhere);
    return json;
}

JsonRecord to_json(const IdleStretch& wait) {
    JsonRecord json = {{"begin", seconds(wait.begin_ns)}, {"seconds", seconds(wait.length_ns)}};
    json["ended_by"] = wait.ended_by.empty() ? JsonRecord() : JsonRecord(wait.ended_by);
    json["step"] = number_or_null(wait.step);
    json["waited_for"] = wait.waited_for.empty() ? JsonRecord() : JsonRecord(wait.waited_for);
    json["waited_on"] = wait.waited_for.empty() ? JsonRecord() : JsonRecord(wait.waited_on);
    json["since_us"] = wait.waited_for.empty() ? JsonRecord() : JsonRecord(static_cast<double>(wait.since_ns) * 1e-3);
    return json;
}

JsonRecord to_json(const DeviceSummary& device, std::int64_t span_ns) {
    JsonRecord json = {{"device", device.device}, {"name", device.name}, {"tasks", device.tasks}};
    json["seconds"] = seconds(device.busy_ns);
    json["busy"] = share(device.busy_ns, span_ns);
    json["copy_seconds"] = seconds(device.copy_ns);
    json["hidden"] = share(device.hidden_ns, device.copy_ns);
    json["gaps"] = to_json(device.gaps);
    json["waits"] = JsonRecord::array();
    for (const IdleStretch& wait : device.waits) json["waits"].push_back(to_json(wait));
    return json;
}

JsonRecord to_json(const NameTime& time) {
    constexpr std::array<const char*, 3> places = {"cpu", "compute", "copy"};
    return {{"name", time.name},
            {"on", places[static_cast<std::size_t>(time.where)]},
            {"count", time.count},
            {"seconds", seconds(time.total_ns)},
            {"max_seconds", seconds(time.longest_ns)}};
}

JsonRecord to_json(const BlockStateTime& time) {
    return {{"name", time.name},
            {"count", time.count},
            {"seconds", seconds(time.total_ns)},
            {"max_seconds", seconds(time.longest_ns)}};
}

JsonRecord to_json(const SpanTime& time) {
    return {{"name", time.name},
            {"count", time.count},
            {"seconds", seconds(time.total_ns)},
            {"max_seconds", seconds(time.longest_ns)}};
}

JsonRecord to_json(const CounterValues& values) {
    return {{"name", values.name},
            {"count", values.count},
            {"min", values.least},
            {"max", values.most},
            {"last", values.last}};
}

JsonRecord to_json(const StepTime& step) {
    return {{"step", number_or_null(step.step)},    {"bars", step.count},
            {"begin", seconds(step.begin_ns)},      {"end", seconds(step.end_ns)},
            {"cpu_seconds", seconds(step.cpu_ns)},  {"compute_seconds", seconds(step.compute_ns)},
            {"copy_seconds", seconds(step.copy_ns)}};
}

JsonRecord to_json(const CopyTime& copy) {
    JsonRecord json = {{"direction", copy.direction},
                       {"device", number_or_null(copy.device)},
                       {"count", copy.count},
                       {"bytes", copy.bytes}};
    json["seconds"] = seconds(copy.busy_ns);
    json["gb_s"] = copy.busy_ns > 0 ? JsonRecord(static_cast<double>(copy.bytes) / static_cast<double>(copy.busy_ns))
                                    : JsonRecord();
    return json;
}

template <class Element, class... More>
JsonRecord list_of(const std::vector<Element>& elements, More... more) {
    JsonRecord list = JsonRecord::array();
    for (const Element& element : elements) list.push_back(to_json(element, more...));
    return list;
}

}  // namespace

JsonRecord to_json(const TraceSummary& summary, const std::string& file) {
    std::int64_t core_ns = 0;
    for (const RowBusy& core : summary.cores) core_ns += core.busy_ns;
    std::int64_t copying = 0;
    std::int64_t hidden = 0;
    for (const DeviceSummary& device : summary.devices) {
        copying += device.copy_ns;
        hidden += device.hidden_ns;
    }
    JsonRecord json;
    json["trace"] = file;
    json["seconds"] = seconds(summary.span_ns);
    json["tasks"] = summary.tasks;
    json["copies"] = summary.copies;
    json["cores_busy"] = share(core_ns, summary.span_ns * static_cast<std::int64_t>(summary.cores.size()));
    json["cores"] = list_of(summary.cores, summary.span_ns);
    json["devices"] = list_of(summary.devices, summary.span_ns);
    json["copy_seconds"] = seconds(copying);
    json["hidden"] = share(hidden, copying);
    json["names"] = list_of(summary.names);
    json["steps"] = list_of(summary.steps);
    json["directions"] = list_of(summary.directions);
    if (!summary.spans.empty()) json["spans"] = list_of(summary.spans);
    if (!summary.counters.empty()) json["counters"] = list_of(summary.counters);
    if (!summary.block_states.empty()) {
        json["blocks"] = summary.blocks;
        json["block_states"] = list_of(summary.block_states);
    }
    return json;
}

}  // namespace basalt
