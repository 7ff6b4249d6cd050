#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.hpp"

namespace basalt {

/// The caches of one level and type.
struct CacheInfo {
    std::string name;  ///< e.g. "L2", "L1d"
    int count = 0;
    std::uint64_t bytes = 0;  ///< size of one of them
};

/// A NUMA node and the cores it is local to.
struct NumaInfo {
    std::uint64_t bytes = 0;
    std::string cores;  ///< e.g. "0-15"
};

/// The machine as hwloc and the kernel see it.
struct MachineInfo {
    std::string cpu_model;
    int packages = 0;
    int cores = 0;
    int hardware_threads = 0;
    int allowed_threads = 0;  ///< hardware threads in the affinity mask
    int allowed_cores = 0;    ///< cores with a hardware thread in the affinity mask
    std::string affinity;     ///< the mask as a list, e.g. "0-3,8"
    std::vector<CacheInfo> caches;
    std::vector<NumaInfo> numa;
    std::uint64_t memory_bytes = 0;
    CgroupLimits cgroup;
    std::optional<std::uint64_t> locked_memory;  ///< bytes that the process may lock; empty: no limit
    std::vector<std::string> vector_units;       ///< widest last, e.g. {"AVX2", "AVX-512"}
    std::optional<std::string> governor;         ///< of the CPU frequency; empty if the kernel does not say
    double load = 0;                             ///< runnable threads over the last minute
    std::string hwloc_version;
};

/// Throws MachineFailure if hwloc cannot read the machine.
MachineInfo inspect_machine();

/// The cores that a runtime with default settings uses: those of the affinity mask, or fewer under a CPU quota.
int usable_cores(const MachineInfo& machine);

/// The machine in one line, for records: "MODEL, N cores".
std::string machine_name(const MachineInfo& machine);

}  // namespace basalt
