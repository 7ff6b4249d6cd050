#pragma once

#include <filesystem>

#include "io/energy/energy_counter.hpp"

namespace basalt {

/// Adds the RAPL counters of the processor packages, which Linux shows as files (powercap: energy_uj and
/// max_energy_range_uj of the zones intel-rapl:N, also on AMD processors). A package's counter includes its cores,
/// caches and memory controllers, but not the memory. If there is no package, the part "cpu" is not counted. On many
/// machines only root may read the files.
void add_rapl_counters(EnergyCounters& found, const std::filesystem::path& powercap = "/sys/class/powercap");

}  // namespace basalt
