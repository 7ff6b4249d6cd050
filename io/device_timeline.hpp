#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "basalt/trace.hpp"
#include "io/intervals.hpp"
#include "io/trace_summary.hpp"

namespace basalt {

/// Finds the predecessors of events. Bars that share an id (a gang) are one task that ends with the last.
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
        std::vector<int> devices;  // that computed a bar of it
    };
    std::unordered_map<std::uint64_t, Task> tasks_;
};

/// What one device computed and copied, for the questions of a summary.
class DeviceTimeline {
  public:
    /// `device` is that of some row of `trace`; both arguments must outlive this.
    DeviceTimeline(const Trace& trace, const Predecessors& predecessors, int device);

    /// All of the summary; `span` is that of the whole trace.
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
