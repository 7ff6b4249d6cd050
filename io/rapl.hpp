#pragma once

#include <filesystem>

#include "io/energy_counter.hpp"

namespace basalt {

/// Adds the counters of the processor packages: RAPL's, as Linux shows them in files (powercap: energy_uj and
/// max_energy_range_uj of the zones intel-rapl:N, on AMD processors too). A package's counter holds what its cores,
/// caches and memory controllers take, not the memory. Where there is none, the part "cpu" is uncounted. Only root may
/// read them on many machines.
void add_rapl_counters(EnergyCounters& found, const std::filesystem::path& powercap = "/sys/class/powercap");

}  // namespace basalt
