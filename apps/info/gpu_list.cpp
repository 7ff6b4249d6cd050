#include "apps/info/gpu_list.hpp"

#include "apps/info/hwloc_topology.hpp"

namespace basalt {

namespace {

constexpr unsigned nvidia_vendor = 0x10de;
constexpr unsigned display_controllers = 0x03;  // PCI base class of VGA and 3D controllers

hwloc_topology_t topology_with_devices() {
    static const Topology topology = load_topology(MachineParts::processors_and_devices);
    return topology.get();
}

}  // namespace

std::optional<NearCores> cores_near(const CudaGpu& gpu) {
    const hwloc_topology_t topology = topology_with_devices();
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, gpu.bus_id.c_str());
    if (device == nullptr) return std::nullopt;
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
    if (place == nullptr || place->cpuset == nullptr) return std::nullopt;
    NearCores near{list_of(place->cpuset), -1};
    if (hwloc_bitmap_weight(place->nodeset) == 1) near.numa_node = hwloc_bitmap_first(place->nodeset);
    return near;
}

int nvidia_devices_on_bus() {
    const hwloc_topology_t topology = topology_with_devices();
    int count = 0;
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device)) != nullptr;) {
        const auto& pci = device->attr->pcidev;
        if (pci.vendor_id == nvidia_vendor && pci.class_id >> 8 == display_controllers) ++count;
    }
    return count;
}

}  // namespace basalt
