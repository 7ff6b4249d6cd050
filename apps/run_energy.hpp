#pragma once

#include <memory>

#include "apps/output_files.hpp"
#include "basalt/runtime.hpp"
#include "io/energy_meter.hpp"

namespace basalt {

/// What --energy asks for: a meter of the processor packages and, where `on_gpus`, of the runtime's GPUs. Names the
/// parts without a counter among the human lines. Throws MachineFailure where no part has one.
std::unique_ptr<EnergyMeter> make_energy_meter(const Runtime& runtime, bool on_gpus, OutputFiles& files);

}  // namespace basalt
