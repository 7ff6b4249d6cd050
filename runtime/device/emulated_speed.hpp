#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "basalt/emulation.hpp"
#include "basalt/tuning.hpp"

namespace basalt::detail {

/// How fast one emulated GPU is: its streams sleep after what was faster.
class EmulatedSpeed {
  public:
    using Clock = std::chrono::steady_clock;

    EmulatedSpeed(const Emulation& emulation, int device);

    /// GPUs of different speed are different models.
    std::string model() const;
    /// With the rate of the link.
    GpuTuning tuning(GpuTuning tuning) const;

    void end_kernel(Clock::time_point begin) const;
    void end_copy(Clock::time_point begin, std::size_t bytes) const;

  private:
    double slowness_;             ///< see Emulation
    double link_bytes_a_second_;  ///< 0: no limit
};

}  // namespace basalt::detail
