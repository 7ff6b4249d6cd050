#pragma once

#include <string>

#include "io/files/json_record.hpp"
#include "io/trace/trace_summary.hpp"

namespace basalt {

/// The summary as one JSON object. Times are in seconds, gaps in microseconds, rates in GB/s; shares are from 0 to 1.
JsonRecord to_json(const TraceSummary& summary, const std::string& file);

}  // namespace basalt
