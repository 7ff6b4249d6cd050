#include "io/energy/gpu_clocks.hpp"

#include <array>
#include <stdexcept>

namespace basalt {

namespace {

using Device = NvmlLibrary::Device;

// nvmlClockType_t
constexpr int sm_clock = 1, memory_clock = 2;

/// The part of NVML that tells of a machine's GPUs.
class NvmlClocks {
  public:
    explicit NvmlClocks(const std::string& path) : library_(path) {}

    std::string driver() const {
        std::array<char, 80> text{};
        call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text.data(), unsigned{text.size()});
        return text.data();
    }
    unsigned count() const {
        unsigned number = 0;
        call<int(unsigned*)>("nvmlDeviceGetCount_v2", &number);
        return number;
    }
    Device device(unsigned number) const {
        Device found = nullptr;
        call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", number, &found);
        return found;
    }
    std::string model(Device device) const {
        std::array<char, 96> text{};
        call<int(Device, char*, unsigned)>("nvmlDeviceGetName", device, text.data(), unsigned{text.size()});
        return text.data();
    }
    int clock(Device device, int type) const {
        unsigned mhz = 0;
        call<int(Device, int, unsigned*)>("nvmlDeviceGetClockInfo", device, type, &mhz);
        return static_cast<int>(mhz);
    }
    double power_limit(Device device) const {
        unsigned milliwatts = 0;
        call<int(Device, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit", device, &milliwatts);
        return milliwatts * 1e-3;
    }

  private:
    template <class F, class... Args>
    void call(const char* name, Args... args) const {
        library_.check(name, library_.function<F>(name)(args...));
    }

    NvmlLibrary library_;
};

/// What `ask` returns; none where NVML refuses it.
template <class F>
auto if_told(const F& ask) -> std::optional<decltype(ask())> {
    try {
        return ask();
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
}

GpuClocks clocks_of(const NvmlClocks& nvml, Device device) {
    return {.model = if_told([&] { return nvml.model(device); }).value_or(""),
            .sm_mhz = if_told([&] { return nvml.clock(device, sm_clock); }),
            .memory_mhz = if_told([&] { return nvml.clock(device, memory_clock); }),
            .power_limit_watts = if_told([&] { return nvml.power_limit(device); })};
}

}  // namespace

std::optional<DriverState> read_driver_state(const std::string& library) {
    return if_told([&] {
        const NvmlClocks nvml(library);
        DriverState state{nvml.driver(), {}};
        const unsigned gpus = nvml.count();
        for (unsigned number = 0; number < gpus; ++number) state.gpus.push_back(clocks_of(nvml, nvml.device(number)));
        return state;
    });
}

}  // namespace basalt
