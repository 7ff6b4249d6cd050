#include "io/nvml.hpp"

#include <dlfcn.h>

#include <memory>
#include <stdexcept>

namespace basalt {

namespace {

/// The part of NVML that is needed, with the signatures of nvml.h (a status is an enum, 0 for success; a device is a
/// pointer).
class Nvml {
  public:
    using Device = void*;

    explicit Nvml(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) throw std::runtime_error(dlerror());
        try {
            find(init_, "nvmlInit_v2");
            find(shutdown_, "nvmlShutdown");
            find(device_at_, "nvmlDeviceGetHandleByPciBusId_v2");
            find(total_energy_, "nvmlDeviceGetTotalEnergyConsumption");
            find(error_string_, "nvmlErrorString");
            check("nvmlInit", init_());
        } catch (...) {
            dlclose(library_);
            throw;
        }
    }
    ~Nvml() {
        shutdown_();
        dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    Device device_at(const std::string& bus_id) const {
        Device device = nullptr;
        check("nvmlDeviceGetHandleByPciBusId", device_at_(bus_id.c_str(), &device));
        return device;
    }

    std::uint64_t millijoules(Device device) const {
        unsigned long long energy = 0;
        check("nvmlDeviceGetTotalEnergyConsumption", total_energy_(device, &energy));
        return energy;
    }

  private:
    template <class F>
    void find(F*& function, const char* name) const {
        function = reinterpret_cast<F*>(dlsym(library_, name));
        if (function == nullptr) throw std::runtime_error(dlerror());
    }
    void check(const char* call, int status) const {
        if (status != 0) throw std::runtime_error(std::string(call) + ": " + error_string_(status));
    }

    void* library_;
    int (*init_)() = nullptr;
    int (*shutdown_)() = nullptr;
    int (*device_at_)(const char*, Device*) = nullptr;
    int (*total_energy_)(Device, unsigned long long*) = nullptr;
    const char* (*error_string_)(int) = nullptr;
};

EnergyCounter counter_of(const MeteredGpu& gpu, const std::shared_ptr<const Nvml>& nvml) {
    if (gpu.bus_id.empty()) throw std::runtime_error("it is emulated");
    return {gpu.name, [nvml, device = nvml->device_at(gpu.bus_id)] { return nvml->millijoules(device) * 1000; }};
}

}  // namespace

void add_nvml_counters(EnergyCounters& found, const std::vector<MeteredGpu>& gpus, const std::string& library) {
    std::shared_ptr<const Nvml> nvml;
    for (const MeteredGpu& gpu : gpus) {
        try {
            if (!nvml && !gpu.bus_id.empty()) nvml = std::make_shared<const Nvml>(library);
            found.add(counter_of(gpu, nvml));
        } catch (const std::runtime_error& error) {
            found.uncounted.push_back({gpu.name, error.what()});
        }
    }
}

}  // namespace basalt
