// An NVML whose GPUs are what the environment says: FAKE_NVML="0000:1b:00.0=1500 0000:ad:00.0=none" has two, the first
// at 1500 millijoules, the second without a counter and without clocks. FAKE_NVML unset: no driver.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

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

/// The names of the GPUs, in their order.
std::vector<std::string> gpus() {
    const char* all = std::getenv("FAKE_NVML");
    std::istringstream words(all != nullptr ? all : "");
    std::vector<std::string> names;
    for (std::string word; words >> word;) names.push_back(word.substr(0, word.find('=')));
    return names;
}

/// Of a GPU with clocks.
int tell(void* device, unsigned* value, unsigned told) {
    if (value_of(*static_cast<std::string*>(device)) == "none") return not_supported;
    *value = told;
    return success;
}

std::array<std::string, 64> devices;
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

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    std::snprintf(text, size, "580.65.06");
    return success;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(gpus().size());
    return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    return nvmlDeviceGetHandleByPciBusId_v2(gpus().at(index).c_str(), device);
}

int nvmlDeviceGetName(void*, char* text, unsigned size) {
    std::snprintf(text, size, "NVIDIA H200");
    return success;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) { return tell(device, mhz, type == 2 ? 3201 : 1980); }

int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) { return tell(device, milliwatts, 700000); }

const char* nvmlErrorString(int status) {
    return status == not_supported ? "Not Supported" : status == not_found ? "Not Found" : "Driver Not Loaded";
}
}
