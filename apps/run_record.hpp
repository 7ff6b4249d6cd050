#pragma once

#include "apps/factor_plan.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// A record with what all runs of `runtime` by this plan, with panels of `panel_width`, have in common: mode,
/// processors, tile, where the data are, machine and commit.
FactorRecord run_record(const FactorPlan& plan, Index panel_width, const Runtime& runtime);

}  // namespace basalt
