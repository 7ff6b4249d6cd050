#pragma once

#include <optional>

namespace bench {

/// What the machine does besides this process, in cores: 0.5 is one core busy half of the time.
struct MachineLoad {
    double average = 0;            ///< the kernel's load average of one minute, this process included
    std::optional<double> others;  ///< cores that other processes kept busy
    std::optional<double> stolen;  ///< cores that the hypervisor gave to other machines
};

/// Measures the load from its construction on.
class LoadMeter {
  public:
    LoadMeter();

    /// `others` and `stolen` are averages since construction; none in the first tenth of a second.
    MachineLoad read() const;

  private:
    struct Times;
    static Times read_times();

    struct Times {
        double wall = 0;    ///< seconds
        double busy = 0;    ///< seconds of all cores, by all processes
        double stolen = 0;  ///< seconds of all cores
        double own = 0;     ///< seconds of all cores, by this process and its children that have ended
    };

    Times start_;
    double average_;
};

}  // namespace bench
