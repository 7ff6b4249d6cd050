#pragma once

#include <string>
#include <vector>

#include "io/energy_counter.hpp"

namespace basalt {

/// A GPU whose energy is asked for.
struct MeteredGpu {
    std::string name;    ///< "gpu 0"
    std::string bus_id;  ///< on the PCI bus, e.g. "0000:1b:00.0"; empty: it is emulated
};

/// Adds the GPUs' counters: NVML's total energy, of the whole board with its memory. The driver's library is loaded
/// when this is called, so that nothing links it, and stays for as long as the counters. A GPU without a counter is
/// uncounted.
void add_nvml_counters(EnergyCounters& found, const std::vector<MeteredGpu>& gpus,
                       const std::string& library = "libnvidia-ml.so.1");

}  // namespace basalt
