#pragma once

#include <memory>
#include <vector>

#include "basalt/runtime.hpp"
#include "basalt/tuning.hpp"
#include "runtime/device/device.hpp"

namespace basalt::detail {

/// The devices that the configuration asks for. Throws UsageError for settings of devices that are out of range.
std::vector<std::unique_ptr<Device>> open_devices(const Config& config);

/// The numbers chosen for this machine's cores and for these devices.
Tuning tuning_for(const Config& config, const std::vector<std::unique_ptr<Device>>& devices);

/// The configuration with the number of workers that the runtime has. Throws UsageError for settings out of range.
Config checked(Config config, const std::vector<std::unique_ptr<Device>>& devices);

}  // namespace basalt::detail
