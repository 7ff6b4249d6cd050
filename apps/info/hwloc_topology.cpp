#include "apps/info/hwloc_topology.hpp"

#include <cstdlib>

#include "apps/exit_status.hpp"
#include "base/topology.hpp"

namespace basalt {

Topology load_topology(MachineParts parts) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw MachineFailure("hwloc cannot start");
    Topology topology(raw);
    if (parts == MachineParts::processors_and_devices)
        hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(raw) != 0)
        throw MachineFailure("hwloc cannot read the machine" + detail::hwloc_variables());
    return topology;
}

std::string list_of(hwloc_const_cpuset_t set) {
    char* text = nullptr;
    if (hwloc_bitmap_list_asprintf(&text, set) < 0) return "unknown";
    const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
    return text;
}

}  // namespace basalt
