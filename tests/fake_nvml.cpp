// An NVML whose GPUs are what the environment says: FAKE_NVML="0000:1b:00.0=1500 0000:ad:00.0=none" has two, the first
// at 1500 millijoules, the second without a counter. FAKE_NVML unset: no driver.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

namespace {

enum Status : int { success = 0, not_supported = 3, not_found = 6, driver_not_loaded = 9 };

/// The text behind "NAME=" in FAKE_NVML; empty where there is no such GPU.
std::string value_of(const std::string& gpu) {
    const char* all = std::getenv("FAKE_NVML");
    std::istringstream words(all != nullptr ? all : "");
    for (std::string word; words >> word;) {
        if (word.compare(0, gpu.size() + 1, gpu + '=') == 0) return word.substr(gpu.size() + 1);
    }
    return {};
}

std::array<std::string, 8> devices;
std::size_t device_count = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() { return std::getenv("FAKE_NVML") != nullptr ? success : driver_not_loaded; }

int nvmlShutdown() { return success; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
    if (value_of(bus_id).empty() || device_count == devices.size()) return not_found;
    devices[device_count] = bus_id;
    *device = &devices[device_count++];
    return success;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* energy) {
    const std::string value = value_of(*static_cast<std::string*>(device));
    if (value.empty() || value == "none") return not_supported;
    *energy = std::stoull(value);
    return success;
}

const char* nvmlErrorString(int status) {
    return status == not_supported ? "Not Supported" : status == not_found ? "Not Found" : "Driver Not Loaded";
}
}
