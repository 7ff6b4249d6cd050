#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "basalt/trace.hpp"
#include "io/trace/device_summary.hpp"

namespace basalt {

/// The time that one row was busy: the union of its bars.
struct RowBusy {
    std::string name;
    std::int64_t busy_ns = 0;
    std::int64_t count = 0;  ///< bars
};

/// Tasks or copies of one name in one kind of row.
struct NameTime {
    std::string name;
    TraceRowKind where = TraceRowKind::cpu;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;  ///< on cores without nested tasks, which run while a task waits
    std::int64_t longest_ns = 0;
};

/// One state of the blocks inside kernels, summed over all blocks.
struct BlockStateTime {
    std::string name;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t longest_ns = 0;
};

/// The user's spans of one name, with what is nested in them.
struct SpanTime {
    std::string name;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t longest_ns = 0;
};

/// The values of one of the user's counters.
struct CounterValues {
    std::string name;
    std::int64_t count = 0;
    double least = 0;
    double most = 0;
    double last = 0;
};

/// One step of the algorithm: sums over its bars. Nested bars count once.
struct StepTime {
    std::optional<int> step;  ///< empty: the bars that belong to no step
    std::int64_t count = 0;
    std::int64_t begin_ns = 0;  ///< first begin and last end, since the begin of the trace
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t compute_ns = 0;
    std::int64_t copy_ns = 0;
};

/// Copies of one direction on one device.
struct CopyTime {
    std::string direction;      ///< e.g. "from host": the name of the row without that of the device
    std::optional<int> device;  ///< empty: copies by cores
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::int64_t busy_ns = 0;  ///< union of the copies
};

struct TraceSummary {
    std::int64_t begin_ns = 0;  ///< of the earliest event, with the origin of the trace
    std::int64_t span_ns = 0;   ///< from the first begin to the last end; shares refer to it
    std::int64_t tasks = 0;
    std::int64_t copies = 0;
    std::vector<RowBusy> cores;                ///< rows of kind cpu, in the order of the trace
    std::vector<DeviceSummary> devices;        ///< by number
    std::vector<NameTime> names;               ///< most time first
    std::vector<StepTime> steps;               ///< by number
    std::int64_t blocks = 0;                   ///< rows of kind block
    std::vector<BlockStateTime> block_states;  ///< most time first; this time is part of that of the compute rows
    std::vector<CopyTime> directions;          ///< by name, then device
    std::vector<SpanTime> spans;               ///< most time first; no part of the times above
    std::vector<CounterValues> counters;       ///< by name
};

/// Summarizes a trace. Every bar on a copy row is a copy, and every bar on a compute row is computation; on cores the
/// kind of the bar decides. Bars on rows of blocks count in `block_states` only. Keeps up to `waits` idle times per
/// device.
TraceSummary summarize(const Trace& trace, std::size_t waits = 5);

}  // namespace basalt
