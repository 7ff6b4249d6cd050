#pragma once

#include <memory>

#include "apps/runs/output_files.hpp"
#include "basalt/runtime.hpp"
#include "io/energy/energy_meter.hpp"

namespace basalt {

/// What --energy measures: the processor packages and, if GPUs take part, those of the runtime.
struct MeteredRun {
    const Runtime& runtime;
    bool on_gpus;
};

/// The meter for --energy. Names the parts without a counter in a human line. Throws MachineFailure if no part has one.
std::unique_ptr<EnergyMeter> make_energy_meter(const MeteredRun& run, OutputFiles& files);

}  // namespace basalt
