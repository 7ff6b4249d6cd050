#pragma once

namespace basalt {

/// How busy other processes keep the cores that this process may use, from the object's construction on. Counts what
/// the kernel says of these cores (/proc/stat: everything but idle and waiting for devices, time stolen by the host of
/// a virtual machine too) less what this process used itself.
class MachineLoad {
  public:
    MachineLoad();

    struct Interval {
        double seconds = 0;  ///< since construction
        double others =
            0;  ///< share of the cores' time, 0 to 1, that other processes had; 0 where the kernel is silent
    };
    Interval so_far() const;

    /// Processes that run or wait for a core, the mean of the last minute, and the cores of the machine.
    struct Average {
        double runnable = 0;
        int cores = 1;
    };
    static Average last_minute();

  private:
    struct Times {
        double wall = 0;
        double busy = 0;  ///< of the cores, all processes
        double own = 0;   ///< of this process
        int cores = 1;
    };
    static Times now();

    Times start_;
};

}  // namespace basalt
