#pragma once

#include <iosfwd>

#include "basalt/trace.hpp"

namespace basalt {

/// Writes `trace` as Chrome's trace event JSON, which Perfetto and chrome://tracing open and read_chrome_trace() reads
/// back: one process, a thread a row, a complete event a task or copy. The arguments of a row's name are its kind
/// ("cpu", "compute", "copy", "block") and device; those of an event "tiles", "priority", "kind", "step", "bytes", "id"
/// and "after" (ids of what it waited for). What has the default of TraceEvent is left out, but priority.
///
/// Times are microseconds with three decimals, so nanoseconds survive; the earliest event starts at 0. Text
/// that is not UTF-8 is written byte by byte as U+00XX. Check the stream's state afterwards.
void write_chrome_trace(std::ostream& out, const Trace& trace);

}  // namespace basalt
