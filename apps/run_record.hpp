#pragma once

#include "apps/settings.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// A record with what all runs of `runtime` have in common: mode, processors, where the data are, machine and commit.
FactorRecord run_record(const Settings& settings, const Runtime& runtime);

/// Whether LU with these settings uses the runtime's GPUs.
bool uses_gpus(const Settings& settings, const Runtime& runtime);

}  // namespace basalt
