#include "io/energy/nvml.hpp"

#include <memory>
#include <stdexcept>

#include "io/energy/nvml_library.hpp"

namespace basalt {

namespace {

using Device = NvmlLibrary::Device;

/// The functions of NVML for the energy of a GPU.
class NvmlEnergy {
  public:
    explicit NvmlEnergy(const std::string& path)
        : library_(path),
          device_at_(library_.function<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2")),
          total_energy_(library_.function<int(Device, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption")) {}

    Device device_at(const std::string& bus_id) const {
        Device device = nullptr;
        library_.check("nvmlDeviceGetHandleByPciBusId", device_at_(bus_id.c_str(), &device));
        return device;
    }

    std::uint64_t millijoules(Device device) const {
        unsigned long long energy = 0;
        library_.check("nvmlDeviceGetTotalEnergyConsumption", total_energy_(device, &energy));
        return energy;
    }

  private:
    NvmlLibrary library_;
    int (*device_at_)(const char*, Device*);
    int (*total_energy_)(Device, unsigned long long*);
};

EnergyCounter counter_of(const MeteredGpu& gpu, const std::shared_ptr<const NvmlEnergy>& nvml) {
    if (gpu.bus_id.empty()) throw std::runtime_error("it is emulated");
    return {gpu.name, [nvml, device = nvml->device_at(gpu.bus_id)] { return nvml->millijoules(device) * 1000; }};
}

}  // namespace

void add_nvml_counters(EnergyCounters& found, const std::vector<MeteredGpu>& gpus, const std::string& library) {
    std::shared_ptr<const NvmlEnergy> nvml;
    for (const MeteredGpu& gpu : gpus) {
        try {
            if (!nvml && !gpu.bus_id.empty()) nvml = std::make_shared<const NvmlEnergy>(library);
            found.add(counter_of(gpu, nvml));
        } catch (const std::runtime_error& error) {
            found.uncounted.push_back({gpu.name, error.what()});
        }
    }
}

}  // namespace basalt
