#pragma once

#include <string>
#include <vector>

#include "io/energy/energy_counter.hpp"

namespace basalt {

/// A GPU to measure.
struct MeteredGpu {
    std::string name;    ///< "gpu 0"
    std::string bus_id;  ///< on the PCI bus, e.g. "0000:1b:00.0"; empty: it is emulated
};

/// Adds a counter per GPU: NVML's total energy, which includes the whole board with its memory. Loads the driver's
/// library at run time, so that no program has to link it; the counters keep it loaded. A GPU without a counter is
/// added to the parts that are not counted.
void add_nvml_counters(EnergyCounters& found, const std::vector<MeteredGpu>& gpus,
                       const std::string& library = "libnvidia-ml.so.1");

}  // namespace basalt
