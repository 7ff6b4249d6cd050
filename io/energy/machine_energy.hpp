#pragma once

#include <vector>

#include "basalt/device.hpp"
#include "io/energy/energy_counter.hpp"

namespace basalt {

/// The counters of the processor packages and of `gpus`, which are all devices of a runtime in their order, or none.
EnergyCounters machine_energy_counters(const std::vector<DeviceInfo>& gpus);

}  // namespace basalt
