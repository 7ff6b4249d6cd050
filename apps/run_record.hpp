#pragma once

#include "apps/lu_plan.hpp"
#include "io/json_record.hpp"

namespace basalt {

/// A record with what all runs of `runtime` by this plan have in common: mode, processors, panel width, tile, where the
/// data are, machine and commit.
FactorRecord run_record(const LuPlan& plan, const Runtime& runtime);

}  // namespace basalt
