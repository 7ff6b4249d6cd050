#include "io/energy/machine_energy.hpp"

#include "basalt/cuda_info.hpp"
#include "io/energy/nvml.hpp"
#include "io/energy/rapl.hpp"

namespace basalt {

namespace {

/// CUDA numbers the GPUs as the runtime does; NVML ignores CUDA_VISIBLE_DEVICES and numbers them differently. Their
/// addresses on the PCI bus identify them.
std::vector<MeteredGpu> metered_gpus(const std::vector<DeviceInfo>& gpus) {
    const CudaInfo cuda = cuda_info();
    std::vector<MeteredGpu> metered;
    for (const DeviceInfo& gpu : gpus) {
        const std::size_t number = metered.size();
        const bool real = !gpu.emulated && number < cuda.gpus.size();
        metered.push_back({gpu.name, real ? cuda.gpus[number].bus_id : ""});
    }
    return metered;
}

}  // namespace

EnergyCounters machine_energy_counters(const std::vector<DeviceInfo>& gpus) {
    EnergyCounters found;
    if (!gpus.empty()) add_nvml_counters(found, metered_gpus(gpus));
    add_rapl_counters(found);
    return found;
}

}  // namespace basalt
