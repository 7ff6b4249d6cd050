#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "basalt/trace.hpp"

namespace basalt {

/// How long one row was busy: the union of its bars.
struct RowBusy {
    std::string name;
    std::int64_t busy_ns = 0;
    std::int64_t count = 0;  ///< bars
};

/// Nearest-rank percentiles; the median of an even number is the mean of the middle two. All 0 where count is 0.
struct GapStatistics {
    std::int64_t count = 0;
    double median_ns = 0;
    double percentile90_ns = 0;  ///< the least gap that 90 % of all do not exceed
    std::int64_t longest_ns = 0;
    std::int64_t total_ns = 0;
};

/// Gaps between dependent tasks of a device. Looked at are its tasks with a known predecessor that ran on the same
/// device; a gap lasts from the latest end of all the task's known predecessors, wherever they ran, to its begin.
struct DependentGaps {
    std::int64_t tasks = 0;         ///< looked at
    std::int64_t busy_between = 0;  ///< not counted: the device computed something during the gap
    std::int64_t early = 0;         ///< began before the latest end, as clocks tell; counted as gaps of 0
    GapStatistics counted;
    GapStatistics after_elsewhere;  ///< those of `counted` whose last predecessor did not run on this device
};

/// A stretch in which a device computed nothing, and what ended it.
struct IdleStretch {
    std::int64_t begin_ns = 0;  ///< since the trace's begin
    std::int64_t length_ns = 0;
    std::string ended_by;       ///< name and tiles of the task that began then; empty: the trace ended
    int step = -1;              ///< of that task
    std::string waited_for;     ///< name and tiles of its known predecessor that ended last; empty: none is known
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

/// Tasks or copies of one name in one kind of row.
struct NameTime {
    std::string name;
    TraceRowKind where = TraceRowKind::cpu;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;  ///< on cores without what ran nested inside (while the task waited for it)
    std::int64_t longest_ns = 0;
};

/// What blocks inside kernels were busy with, over all of them.
struct BlockStateTime {
    std::string name;
    std::int64_t count = 0;
    std::int64_t total_ns = 0;
    std::int64_t longest_ns = 0;
};

/// One step of the algorithm: sums over its bars, nested ones counted once.
struct StepTime {
    int step = -1;  ///< -1: what belongs to no step
    std::int64_t count = 0;
    std::int64_t begin_ns = 0;  ///< first begin and last end, since the trace's begin
    std::int64_t end_ns = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t compute_ns = 0;
    std::int64_t copy_ns = 0;
};

/// Copies of one direction on one device.
struct CopyTime {
    std::string direction;  ///< "from host" and the like: the row's name without the device's
    int device = -1;        ///< -1: copies by cores
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    std::int64_t busy_ns = 0;  ///< union of the copies
};

struct TraceSummary {
    std::int64_t begin_ns = 0;  ///< the earliest event's, with the trace's own origin
    std::int64_t span_ns = 0;   ///< first begin to last end; shares refer to it
    std::int64_t tasks = 0;
    std::int64_t copies = 0;
    std::vector<RowBusy> cores;                ///< rows of kind cpu, in the order of the trace
    std::vector<DeviceSummary> devices;        ///< by number
    std::vector<NameTime> names;               ///< most time first
    std::vector<StepTime> steps;               ///< by number
    std::int64_t blocks = 0;                   ///< rows of kind block
    std::vector<BlockStateTime> block_states;  ///< most time first; they are a part of what the compute rows did
    std::vector<CopyTime> directions;          ///< by name, then device
};

/// What a trace says of its run. A bar on a copy row is a copy whatever its kind is, and one on a compute row is
/// computation; on cores the kind decides. Bars on rows of blocks count in `block_states` alone. Up to `waits` idle
/// stretches a device are kept.
TraceSummary summarize(const Trace& trace, std::size_t waits = 5);

/// Name and tiles: "update 3,5", or the name alone.
std::string label_of(const TraceEvent& event);

}  // namespace basalt
