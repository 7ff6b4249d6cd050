#pragma once

#include <iosfwd>
#include <string>

#include "io/trace_summary.hpp"

namespace basalt {

/// Prints the summary for people; every table says what it counts.
void print_summary(std::ostream& out, const TraceSummary& summary, const std::string& title);

}  // namespace basalt
