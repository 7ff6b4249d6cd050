#pragma once

#include <iosfwd>

#include "basalt/trace.hpp"

namespace basalt {

/// Writes `trace` as Chrome's trace event JSON, which Perfetto and chrome://tracing open: one process, a
/// thread a row, a complete event a task with its tile indices and priority as arguments.
///
/// Times are microseconds with three decimals, so nanoseconds survive; the earliest event starts at 0. Text
/// that is not UTF-8 is written byte by byte as U+00XX. Check the stream's state afterwards.
void write_chrome_trace(std::ostream& out, const Trace& trace);

}  // namespace basalt
