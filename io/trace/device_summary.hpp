#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace basalt {

/// Nearest-rank percentiles; the median of an even number is the mean of the middle two. All are 0 if count is 0.
struct GapStatistics {
    std::int64_t count = 0;
    double median_ns = 0;
    double percentile90_ns = 0;  ///< 90 % of the gaps are not longer
    std::int64_t longest_ns = 0;
    std::int64_t total_ns = 0;
};

/// Gaps between dependent tasks of a device. Dependent tasks are those with a known predecessor on the same device. A
/// gap lasts from the latest end of all known predecessors of the task, on any device, to the begin of the task.
struct DependentGaps {
    std::int64_t tasks = 0;         ///< number of dependent tasks
    std::int64_t busy_between = 0;  ///< not counted: the device computed something during the gap
    std::int64_t early = 0;         ///< began before the latest end according to the clocks; counted as gaps of 0
    GapStatistics counted;
    GapStatistics after_elsewhere;  ///< those of `counted` whose last predecessor did not run on this device
};

/// A time in which a device computed nothing, and the task that ended it.
struct IdleStretch {
    std::int64_t begin_ns = 0;  ///< since the begin of the trace
    std::int64_t length_ns = 0;
    std::string ended_by;       ///< name and tiles of the task that began then; empty: the trace ended
    std::optional<int> step;    ///< of that task
    std::string waited_for;     ///< name and tiles of its known predecessor that ended last; empty: it has none
    std::string waited_on;      ///< row of that predecessor
    std::int64_t since_ns = 0;  ///< from that predecessor's end to the task's begin
};

struct DeviceSummary {
    int device = 0;
    std::string name;
    std::int64_t tasks = 0;
    std::int64_t busy_ns = 0;    ///< union of the computation on all its compute rows
    std::int64_t copy_ns = 0;    ///< union of the copies on its copy rows
    std::int64_t hidden_ns = 0;  ///< intersection of the two
    DependentGaps gaps;
    std::vector<IdleStretch> waits;  ///< the longest ones, longest first
};

}  // namespace basalt
