#pragma once

#include <optional>
#include <string>

#include "basalt/cuda_info.hpp"

namespace basalt {

/// The cores next to a device of the PCI bus.
struct NearCores {
    std::string cores;             ///< e.g. "0-15"
    std::optional<int> numa_node;  ///< empty: not known
};

/// The cores next to the GPU according to hwloc; empty if hwloc does not know the GPU.
std::optional<NearCores> cores_near(const CudaGpu& gpu);

/// The number of NVIDIA display and 3D controllers on the PCI bus, with or without a driver.
int nvidia_devices_on_bus();

}  // namespace basalt
