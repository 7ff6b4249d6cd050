#include "apps/run_energy.hpp"

#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "io/energy_report.hpp"
#include "apps/exit_status.hpp"
#include "io/nvml.hpp"
#include "io/rapl.hpp"
#include "basalt/cuda_info.hpp"

namespace basalt {

namespace {

/// CUDA numbers its GPUs as the runtime does, NVML does not (CUDA_VISIBLE_DEVICES): their places on the bus tell which is which.
std::vector<MeteredGpu> metered_gpus(const Runtime& runtime) {
    const CudaInfo cuda = cuda_info();
    std::vector<MeteredGpu> gpus;
    for (const DeviceInfo& gpu : runtime.devices()) {
        const std::size_t number = gpus.size();
        const bool real = !gpu.emulated && number < cuda.gpus.size();
        gpus.push_back({gpu.name, real ? cuda.gpus[number].bus_id : ""});
    }
    return gpus;
}

}  // namespace

std::unique_ptr<EnergyMeter> make_energy_meter(const Runtime& runtime, bool on_gpus, OutputFiles& files) {
    EnergyCounters found;
    if (on_gpus) add_nvml_counters(found, metered_gpus(runtime));
    add_rapl_counters(found);
    const std::string uncounted = uncounted_text(found.uncounted);
    if (found.counters.empty()) {
        throw MachineFailure(fmt::format("--energy: no energy counter can be read: {}", uncounted));
    }
    if (!uncounted.empty()) files.human() << "energy is not counted of " << uncounted << std::endl;
    return std::make_unique<EnergyMeter>(std::move(found));
}

}  // namespace basalt
