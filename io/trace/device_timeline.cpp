#include "io/trace/device_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace basalt {

namespace {

const TraceRow& row_of(const Trace& trace, const TraceEvent& event) {
    return trace.rows[static_cast<std::size_t>(event.row)];
}

GapStatistics statistics_of(std::vector<std::int64_t> gaps) {
    GapStatistics result;
    if (gaps.empty()) return result;
    std::sort(gaps.begin(), gaps.end());
    const std::size_t count = gaps.size();
    result.count = static_cast<std::int64_t>(count);
    result.median_ns = (static_cast<double>(gaps[(count - 1) / 2]) + static_cast<double>(gaps[count / 2])) / 2;
    result.percentile90_ns = static_cast<double>(gaps[(count * 9 + 9) / 10 - 1]);
    result.longest_ns = gaps.back();
    for (const std::int64_t gap : gaps) result.total_ns += gap;
    return result;
}

}  // namespace

std::string label_of(const TraceEvent& event) {
    return event.detail.empty() ? event.name : event.name + ' ' + event.detail;
}

// --- predecessors ------------------------------------------------------------------------------------------

Predecessors::Predecessors(const Trace& trace) {
    tasks_.reserve(trace.events.size());
    for (const TraceEvent& event : trace.events) {
        if (event.id == 0) continue;
        Task& task = tasks_[event.id];
        if (task.last == nullptr || event.end_ns > task.last->end_ns) task.last = &event;
        const TraceRow& row = row_of(trace, event);
        if (row.kind == TraceRowKind::compute) task.devices.push_back(row.device.value());
    }
}

const TraceEvent* Predecessors::last_of(const TraceEvent& event) const {
    const TraceEvent* last = nullptr;
    for (const std::uint64_t id : event.after) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end()) continue;
        if (last == nullptr || found->second.last->end_ns > last->end_ns) last = found->second.last;
    }
    return last;
}

bool Predecessors::any_on_device(const TraceEvent& event, int device) const {
    return std::any_of(event.after.begin(), event.after.end(), [&](std::uint64_t id) {
        const auto found = tasks_.find(id);
        if (found == tasks_.end()) return false;
        const auto& devices = found->second.devices;
        return std::find(devices.begin(), devices.end(), device) != devices.end();
    });
}

// --- one device --------------------------------------------------------------------------------------------

DeviceTimeline::DeviceTimeline(const Trace& trace, const Predecessors& predecessors, int device)
    : trace_(trace), predecessors_(predecessors), device_(device), name_(fmt::format("gpu {}", device)) {
    const auto named = std::find_if(trace.rows.begin(), trace.rows.end(), [&](const TraceRow& row) {
        return row.device == device && row.kind == TraceRowKind::compute;
    });
    if (named != trace.rows.end()) name_ = named->name;
    std::vector<Interval> computing;
    std::vector<Interval> copying;
    for (const TraceEvent& event : trace.events) {
        const TraceRow& row = row_of(trace, event);
        if (row.device != device || row.kind == TraceRowKind::cpu || row.kind == TraceRowKind::block) continue;
        const bool computes = row.kind == TraceRowKind::compute;
        (computes ? computing : copying).push_back({event.begin_ns, event.end_ns});
        if (computes) tasks_.push_back(&event);
    }
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const TraceEvent* a, const TraceEvent* b) { return a->begin_ns < b->begin_ns; });
    computing_ = united(std::move(computing));
    copying_ = united(std::move(copying));
}

DeviceSummary DeviceTimeline::summary(Interval span, std::size_t waits) const {
    DeviceSummary summary;
    summary.device = device_;
    summary.name = name_;
    summary.tasks = static_cast<std::int64_t>(tasks_.size());
    summary.busy_ns = length(computing_);
    summary.copy_ns = length(copying_);
    summary.hidden_ns = common_length(computing_, copying_);
    summary.gaps = gaps();
    summary.waits = longest_stretches(span, waits);
    return summary;
}

DependentGaps DeviceTimeline::gaps() const {
    DependentGaps result;
    std::vector<std::int64_t> counted;
    std::vector<std::int64_t> elsewhere;
    for (const TraceEvent* task : tasks_) {
        if (!predecessors_.any_on_device(*task, device_)) continue;
        ++result.tasks;
        const TraceEvent* last = predecessors_.last_of(*task);
        if (task->begin_ns < last->end_ns) ++result.early;
        const Interval gap{last->end_ns, std::max(last->end_ns, task->begin_ns)};
        if (!idle(gap)) {
            ++result.busy_between;
            continue;
        }
        counted.push_back(gap.end - gap.begin);
        const TraceRow& row = row_of(trace_, *last);
        if (row.device != device_ || row.kind != TraceRowKind::compute) elsewhere.push_back(counted.back());
    }
    result.counted = statistics_of(std::move(counted));
    result.after_elsewhere = statistics_of(std::move(elsewhere));
    return result;
}

bool DeviceTimeline::idle(Interval stretch) const {
    if (stretch.begin == stretch.end) return true;
    const auto next = std::upper_bound(computing_.begin(), computing_.end(), stretch.begin,
                                       [](std::int64_t time, const Interval& busy) { return time < busy.end; });
    return next == computing_.end() || next->begin >= stretch.end;
}

std::vector<IdleStretch> DeviceTimeline::longest_stretches(Interval span, std::size_t count) const {
    std::vector<Interval> stretches;
    std::int64_t idle_since = span.begin;
    for (const Interval& busy : computing_) {
        if (idle_since < busy.begin) stretches.push_back({idle_since, busy.begin});
        idle_since = busy.end;
    }
    if (idle_since < span.end) stretches.push_back({idle_since, span.end});
    std::stable_sort(stretches.begin(), stretches.end(),
                     [](const Interval& a, const Interval& b) { return a.end - a.begin > b.end - b.begin; });
    std::vector<IdleStretch> result;
    for (std::size_t i = 0; i < std::min(count, stretches.size()); ++i) {
        result.push_back(described(stretches[i], span));
    }
    return result;
}

IdleStretch DeviceTimeline::described(Interval stretch, Interval span) const {
    IdleStretch result;
    result.begin_ns = stretch.begin - span.begin;
    result.length_ns = stretch.end - stretch.begin;
    const auto next = std::lower_bound(tasks_.begin(), tasks_.end(), stretch.end,
                                       [](const TraceEvent* task, std::int64_t time) { return task->begin_ns < time; });
    if (next == tasks_.end()) return result;
    result.ended_by = label_of(**next);
    result.step = (*next)->step;
    if (const TraceEvent* last = predecessors_.last_of(**next)) {
        result.waited_for = label_of(*last);
        result.waited_on = row_of(trace_, *last).name;
        result.since_ns = (*next)->begin_ns - last->end_ns;
    }
    return result;
}

}  // namespace basalt
