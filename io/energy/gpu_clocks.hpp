#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/energy/nvml_library.hpp"

namespace basalt {

/// The clocks of one GPU at one moment; none where the driver does not tell.
struct GpuClocks {
    std::string model;
    std::optional<int> sm_mhz, memory_mhz;
    std::optional<double> power_limit_watts;  ///< the limit in force
};

/// The driver of the machine's NVIDIA GPUs, and the clocks of all of them.
struct DriverState {
    std::string version;
    std::vector<GpuClocks> gpus;
};

/// As NVML tells; none on a machine without the driver.
std::optional<DriverState> read_driver_state(const std::string& library = NvmlLibrary::usual_path);

}  // namespace basalt
