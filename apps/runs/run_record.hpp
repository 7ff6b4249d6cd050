#pragma once

#include "apps/factor/factor_plan.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

/// A record with the fields that are the same for all runs of `runtime` by this plan and panel width: mode, processors,
/// tile, place of the data, machine and commit.
FactorRecord run_record(const FactorPlan& plan, Index panel_width, const Runtime& runtime);

}  // namespace basalt
