#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace basalt {

/// One task (or transfer) as it ran: a bar of the timeline.
struct TraceEvent {
    std::string name;           ///< what ran, e.g. "update"
    int row = 0;                ///< the worker or device it ran on: an index into Trace::row_names
    std::int64_t begin_ns = 0;  ///< start in nanoseconds; any origin, the same one for the whole trace
    std::int64_t end_ns = 0;    ///< end in nanoseconds, not before begin_ns
    int priority = 0;           ///< the task's priority; larger is more urgent
    std::string detail;         ///< tile indices and the like, e.g. "3,5"; empty where there are none
};

/// The record of what ran where and when; events are in no particular order.
struct Trace {
    std::vector<std::string> row_names;  ///< one a row of the timeline, e.g. "worker 0"
    std::vector<TraceEvent> events;
};

}  // namespace basalt
