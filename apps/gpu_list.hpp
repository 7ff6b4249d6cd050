#pragma once

#include <optional>
#include <string>

#include "basalt/cuda_info.hpp"

namespace basalt {

/// The cores next to a device of the PCI bus.
struct NearCores {
    std::string cores;   ///< e.g. "0-15"
    int numa_node = -1;  ///< -1: not known
};

/// Where hwloc sees the GPU on the bus; empty where it does not.
std::optional<NearCores> cores_near(const CudaGpu& gpu);

/// NVIDIA display and 3D controllers on the PCI bus, whether or not a driver serves them.
int nvidia_devices_on_bus();

}  // namespace basalt
