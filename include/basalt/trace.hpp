#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace basalt {

/// The kind of a bar in the timeline.
enum class TraceKind : std::uint8_t {
    task,  ///< a kernel, on a core or a device
    copy,  ///< a transfer
};

/// One task (or transfer) as it ran: a bar of the timeline. A broadcast has one bar per destination, on the row of the
/// copy engine, from the start of the first chunk to the end of the last.
struct TraceEvent {
    std::string name;           ///< what ran, e.g. "update"
    int row = 0;                ///< the worker, device or copy engine it ran on: an index into Trace::rows
    std::int64_t begin_ns = 0;  ///< start in nanoseconds; any origin, the same one for the whole trace
    std::int64_t end_ns = 0;    ///< end in nanoseconds, not before begin_ns
    int priority = 0;           ///< the task's priority; larger is more urgent
    std::string detail;         ///< tile indices and the like, e.g. "3,5"; empty where there are none
    TraceKind kind = TraceKind::task;
    std::optional<int> step;  ///< step of the algorithm it belongs to
    std::int64_t bytes = 0;   ///< moved by a copy
    std::uint64_t id = 0;     ///< of the task, which members of a gang share, or of the broadcast's bar; 0: unknown
    std::vector<std::uint64_t> after;  ///< ids of what it waited for, as far as they were kept (some may be missing)
};

/// Rows of the timeline by what works there.
enum class TraceRowKind : std::uint8_t {
    cpu,      ///< a worker thread
    compute,  ///< a device's kernels, a row for each stream
    copy,     ///< a device's copy engine, or its kernels that pass on broadcasts
    block,    ///< a thread block inside a kernel, which a compute row shows as a part of one bar
    thread,   ///< a thread that is no worker, with spans and no events
};

struct TraceRow {
    /// E.g. "worker 0", "gpu 1", "gpu 1 compute 2", "gpu 1 from host", "gpu 1 relay", "gpu 1 panel block 3".
    std::string name;
    TraceRowKind kind = TraceRowKind::cpu;
    std::optional<int> device;  ///< number of the GPU; empty for a worker thread
};

/// A stretch of the user's code, see Span. Those of one row nest in each other and in its events.
struct TraceSpan {
    std::string name;
    int row = 0;                ///< an index into Trace::rows
    std::int64_t begin_ns = 0;  ///< as in TraceEvent
    std::int64_t end_ns = 0;
};

/// The value of a quantity from some time on, see counter().
struct TraceCounter {
    std::string name;
    std::int64_t time_ns = 0;  ///< as in TraceEvent
    double value = 0;
};

/// The record of what ran where and when; the lists are in no particular order.
struct Trace {
    std::vector<TraceRow> rows;  ///< every worker and GPU; of the others those that were used
    std::vector<TraceEvent> events;
    std::vector<TraceSpan> spans{};
    std::vector<TraceCounter> counters{};
};

}  // namespace basalt
