#pragma once

#include <array>

#include "bench/common/clock.hpp"
#include "kernels/cpu/panel/phases.hpp"

namespace bench {

/// Names of basalt::PanelPhase, for tables and records.
constexpr std::array<const char*, static_cast<std::size_t>(basalt::PanelPhase::count)> phase_names{
    "load", "leaf", "announce", "delayed", "exchange", "pivot_row", "store", "swap", "solve", "barrier"};

/// Measures the seconds that one member of a gang spends in each phase of the panel.
class PhaseClock {
  public:
    using Seconds = std::array<double, phase_names.size()>;

    void enter(basalt::PanelPhase phase) {
        const double time = now();
        if (current_ < seconds_.size()) seconds_[current_] += time - since_;
        current_ = static_cast<std::size_t>(phase);
        since_ = time;
    }

    /// Ends the last phase.
    const Seconds& stop() {
        enter(basalt::PanelPhase::count);
        return seconds_;
    }

  private:
    Seconds seconds_{};
    std::size_t current_ = phase_names.size();
    double since_ = 0;
};

}  // namespace bench
