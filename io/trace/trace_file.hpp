#pragma once

#include <iosfwd>

#include "basalt/trace.hpp"

namespace basalt {

/// Writes `trace` as Chrome's trace event JSON, which Perfetto and chrome://tracing open and read_chrome_trace() reads
/// back: one process, one thread per row, one complete event per task, copy or span, one counter event per value of a
/// counter, if it is finite. The arguments of a row's name are its kind ("cpu", "compute", "copy", "block", "thread")
/// and device. That of a span is the kind "span", that of a counter its "value". The arguments of an event are "tiles",
/// "priority", "kind", "step", "bytes", "id" and "after" (the ids of its predecessors); except for the priority,
/// arguments that have the default value of TraceEvent are left out.
///
/// Times are microseconds with three decimals, which keeps the nanoseconds; the earliest event starts at 0. Text that
/// is not UTF-8 is written byte by byte as U+00XX. Check the stream's state afterwards.
void write_chrome_trace(std::ostream& out, const Trace& trace);

}  // namespace basalt
