#pragma once

#include <memory>
#include <string>

#include <hwloc.h>

namespace basalt {

struct TopologyDeleter {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// How much of the machine is read. Devices on its buses take longer than the processors alone.
enum class MachineParts { processors, processors_and_devices };

/// The machine as hwloc sees it. Throws MachineFailure if hwloc fails.
Topology load_topology(MachineParts parts);

/// The set as a list, e.g. "0-3,8".
std::string list_of(hwloc_const_cpuset_t set);

}  // namespace basalt
