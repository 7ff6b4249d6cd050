#pragma once

#include <memory>
#include <string>

#include <hwloc.h>

namespace basalt {

struct TopologyDeleter {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// The machine as hwloc sees it, on request with the devices on its buses. Throws MachineFailure if hwloc fails.
Topology load_topology(bool with_devices = false);

/// The set as a list, e.g. "0-3,8".
std::string list_of(hwloc_const_cpuset_t set);

}  // namespace basalt
