#pragma once

#include <iosfwd>
#include <string>

#include "basalt/trace.hpp"

namespace basalt {

/// Draws the trace as a Gantt chart in SVG: one line per row (cores, then devices, then copy engines), time to the
/// right, colours by name, and the busy share of each row. A bar of four pixels or more shows its name and times when
/// the mouse points at it. Bars of less than a pixel are merged into one bar per pixel, in the colour of the name that
/// takes most of it, so that the number of rows bounds the size of the file. Check the stream's state afterwards.
void write_trace_chart(std::ostream& out, const Trace& trace, const std::string& title);

}  // namespace basalt
