#pragma once

#include <string>
#include <vector>

#include "apps/factor/factor_plan.hpp"
#include "apps/runs/machine_load.hpp"

namespace basalt {

/// Why runs by this plan that took place under `load` would mislead the models; empty where they would not. That is so
/// - below order 512 (the order of a square matrix with as much work): such runs measure how long it takes to start;
/// - on emulated GPUs, which take the place of no real ones;
/// - while other processes had more than a tenth of the cores' time. Runs of less than 0.2 s together are too short for
///   the kernel's clock: they are not learnt where more than half of the cores were busy in the last minute.
std::string why_not_learnt(const FactorPlan& plan, const Runtime& runtime, const MachineLoad& load);

/// Adds the runs to the models that the settings name, if any, unless why_not_learnt() speaks against it; --verbose
/// tells.
void learn_runs(const FactorPlan& plan, const Runtime& runtime, const std::vector<double>& seconds,
                const MachineLoad& load);

}  // namespace basalt
