#pragma once

#include <iosfwd>
#include <string>

#include "io/trace/trace_summary.hpp"

namespace basalt {

/// Prints the summary as text; every table explains its columns.
void print_summary(std::ostream& out, const TraceSummary& summary, const std::string& title);

}  // namespace basalt
