#include "runtime/trace/trace_recorder.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/graph/task_pool.hpp"

namespace basalt::detail {

namespace {

std::uint64_t number_of(std::uint64_t generation, std::uint64_t slot) { return (generation << 32 | slot) + 1; }

TraceRow row_of_device(int device, StreamRole role) {
    std::string name = "gpu " + std::to_string(device);
    if (role != StreamRole::compute) name += ' ' + name_of(role);
    return {std::move(name), computes(role) ? TraceRowKind::compute : TraceRowKind::copy, device};
}

}  // namespace

std::uint64_t TraceRecorder::id_of(const Task& task) { return number_of(task.generation(), task.slot); }

TraceRecorder::Event::Event(const Task& task, std::int64_t begin, std::int64_t end)
    : name(task.name),
      tile(task.tile),
      priority(task.priority),
      step(task.step),
      begin(begin),
      end(end),
      id(id_of(task)) {
    predecessors = task.recorded.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < predecessors; ++i) {
        const std::uint64_t word = task.predecessors[i].load(std::memory_order_relaxed);
        after[i] = number_of((word & ~Task::in_part) >> 32, word & 0xffffffff) | (word & Task::in_part);
    }
}

void TraceRecorder::record_device(const Task& task, const StreamSpan& span, std::int64_t begin, std::int64_t end) {
    Row& row = rows_[places_ + static_cast<std::size_t>(span.device * stream_roles + static_cast<int>(span.role))];
    const std::lock_guard guard(row.lock);
    Event& event = row.events.emplace_back(task, begin, end);
    event.bytes = span.bytes;
    event.is_part = span.is_part;
    event.target = span.target;
}

TraceRow TraceRecorder::heading(std::size_t index) const {
    if (index + 1 == places_) return {"spare threads", TraceRowKind::cpu, std::nullopt};
    if (index < places_) return {"worker " + std::to_string(index), TraceRowKind::cpu, std::nullopt};
    const auto device_row = static_cast<int>(index - places_);
    return row_of_device(device_row / stream_roles, static_cast<StreamRole>(device_row % stream_roles));
}

/// Gives the bars of a broadcast ids of their own, since not all that wait for it wait for all of them.
TraceRecorder::PartsOfTasks TraceRecorder::tell_parts_apart() {
    PartsOfTasks parts;
    for (std::size_t row = places_; row < rows_.size(); ++row) {
        for (Event& event : rows_[row].events) {
            if (!event.is_part) continue;
            std::vector<Part>& known = parts[event.id];
            event.id += (known.size() + 1) * TaskPool::max_slots;  // no task's: slots have lower numbers
            known.push_back({event.id, heading(row).device, event.target});
        }
    }
    return parts;
}

/// Of a broadcast, all bars or those that concern the memory of `device` (or the host), which the event's row belongs
/// to.
std::vector<std::uint64_t> TraceRecorder::waited_for(const Event& event, std::optional<int> device,
                                                     const PartsOfTasks& parts) {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < event.predecessors; ++i) {
        const std::uint64_t id = event.after[i] & ~Task::in_part;
        const auto found = parts.find(id);
        if (found == parts.end()) {
            ids.push_back(id);
            continue;
        }
        const bool all = (event.after[i] & Task::in_part) == 0;
        for (const Part& part : found->second) {
            if (all || part.device == device || part.target == device) ids.push_back(part.id);
        }
    }
    return ids;
}

void TraceRecorder::take_row(std::size_t index, const PartsOfTasks& parts, Trace& trace) {
    TraceRow row = heading(index);
    const bool copies = row.kind == TraceRowKind::copy;
    const bool spare = index + 1 == places_;
    const bool further = index >= places_ && static_cast<int>(index - places_) % stream_roles >= named_streams;
    // a worker or a device that does nothing is worth seeing, a way that nothing takes or a further stream is not
    if ((copies || further || spare) && rows_[index].events.empty()) return;
    const int number = static_cast<int>(trace.rows.size());
    trace.rows.push_back(std::move(row));
    for (const Event& event : rows_[index].events) {
        trace.events.push_back({.name = event.name,
                                .row = number,
                                .begin_ns = event.begin,
                                .end_ns = event.end,
                                .priority = event.priority,
                                .detail = event.tile.text(),
                                .kind = copies ? TraceKind::copy : TraceKind::task,
                                .step = event.step.get(),
                                .bytes = event.bytes,
                                .id = event.id,
                                .after = waited_for(event, trace.rows.back().device, parts)});
    }
    rows_[index].events.clear();
}

void TraceRecorder::record_blocks(int device, int step, const std::vector<BlockState>& states) {
    const std::lock_guard guard(blocks_lock_);
    for (const BlockState& state : states) blocks_.push_back({device, step, state});
}

void TraceRecorder::take_blocks(Trace& trace) {
    const std::lock_guard guard(blocks_lock_);
    std::map<std::pair<int, int>, int> rows;  // by device and block
    for (const BlockEvent& event : blocks_) rows[{event.device, event.state.block}] = 0;
    for (auto& [place, row] : rows) {
        row = static_cast<int>(trace.rows.size());
        std::string name = "gpu " + std::to_string(place.first) + " panel block " + std::to_string(place.second);
        trace.rows.push_back({std::move(name), TraceRowKind::block, place.first});
    }
    for (const BlockEvent& event : blocks_) {
        TraceEvent& shown = trace.events.emplace_back();
        shown.name = event.state.name;
        shown.row = rows[{event.device, event.state.block}];
        shown.begin_ns = event.state.begin;
        shown.end_ns = event.state.end;
        shown.step = event.step;
    }
    blocks_.clear();
}

void TraceRecorder::record_span(std::optional<int> place, const char* name, std::int64_t begin, std::int64_t end) {
    const std::lock_guard guard(spans_lock_);
    spans_.push_back({name, place, std::this_thread::get_id(), begin, end});
}

void TraceRecorder::record_counter(const char* name, std::int64_t time, double value) {
    const std::lock_guard guard(spans_lock_);
    counters_.push_back({name, time, value});
}

/// The rows of workers come first, one for each. A thread without a place gets a row.
void TraceRecorder::take_spans(Trace& trace) {
    const std::lock_guard guard(spans_lock_);
    std::map<std::thread::id, int> threads;
    const auto row_of_spares = [&] {
        const TraceRow row = heading(places_ - 1);
        const auto found = std::find_if(trace.rows.begin(), trace.rows.end(),
                                        [&](const TraceRow& known) { return known.name == row.name; });
        const auto number = static_cast<int>(found - trace.rows.begin());
        if (found == trace.rows.end()) trace.rows.push_back(row);
        return number;
    };
    for (const UserSpan& span : spans_) {
        int row = span.place.value_or(0);
        if (span.place && static_cast<std::size_t>(*span.place) + 1 == places_) {
            row = row_of_spares();
        } else if (!span.place) {
            const auto [known, is_new] = threads.try_emplace(span.thread, static_cast<int>(trace.rows.size()));
            row = known->second;
            if (is_new) {
                trace.rows.push_back(
                    {"thread " + std::to_string(threads.size() - 1), TraceRowKind::thread, std::nullopt});
            }
        }
        trace.spans.push_back({span.name, row, span.begin, span.end});
    }
    for (const UserCounter& counter : counters_) trace.counters.push_back({counter.name, counter.time, counter.value});
    spans_.clear();
    counters_.clear();
}

Trace TraceRecorder::take() {
    Trace trace;
    const PartsOfTasks parts = tell_parts_apart();
    for (std::size_t row = 0; row < rows_.size(); ++row) take_row(row, parts, trace);
    take_blocks(trace);
    take_spans(trace);
    return trace;
}

}  // namespace basalt::detail
