#pragma once

#include <iosfwd>
#include <string>

#include "basalt/trace.hpp"

namespace basalt {

/// Draws the trace as a Gantt chart in SVG: a line a row (cores, then devices, then copy engines), time to the right,
/// colours by name, and each row's busy share. Bars of four pixels and more tell name and times when pointed at;
/// those below a pixel are merged into one a pixel, in the colour of the name that takes most of it, so that the
/// file's size is bounded by the number of rows. Check the stream's state afterwards.
void write_trace_chart(std::ostream& out, const Trace& trace, const std::string& title);

}  // namespace basalt
