#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "basalt/trace.hpp"
#include "io/trace/device_summary.hpp"
#include "io/trace/intervals.hpp"

namespace basalt {

/// Name and tiles: "update 3,5", or only the name.
std::string label_of(const TraceEvent& event);

/// Finds the predecessors of events. Bars that share an id (a gang) are one task, which ends when the last bar ends.
class Predecessors {
  public:
    /// `trace` must outlive this.
    explicit Predecessors(const Trace& trace);

    /// The known predecessor of `event` that ended last.
    const TraceEvent* last_of(const TraceEvent& event) const;
    /// Whether a known predecessor computed on `device`.
    bool any_on_device(const TraceEvent& event, int device) const;

  private:
    struct Task {
        const TraceEvent* last = nullptr;
        std::vector<int> devices;  // that computed one of its bars
    };
    std::unordered_map<std::uint64_t, Task> tasks_;
};

/// The computation and the copies of one device, for its part of the summary.
class DeviceTimeline {
  public:
    /// `device` is the device of some row of `trace`. Both arguments must outlive this.
    DeviceTimeline(const Trace& trace, const Predecessors& predecessors, int device);

    /// `span` is the time from the first begin to the last end of the whole trace.
    DeviceSummary summary(Interval span, std::size_t waits) const;

  private:
    DependentGaps gaps() const;
    bool idle(Interval stretch) const;
    std::vector<IdleStretch> longest_stretches(Interval span, std::size_t count) const;
    IdleStretch described(Interval stretch, Interval span) const;

    const Trace& trace_;
    const Predecessors& predecessors_;
    const int device_;
    std::string name_;
    std::vector<const TraceEvent*> tasks_;  // of the compute rows, by begin
    Intervals computing_;
    Intervals copying_;
};

}  // namespace basalt
