#pragma once

#include <string>

#include "apps/factor/factor_plan.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

/// Where a run took place, as result lines say it: "mode gpu, 2 emulated GPUs, panels: 0 on cores, 32 on GPUs".
std::string place_text(const FactorPlan& plan, const PanelPlaces& panels, const Runtime& runtime);

/// Adds to a record who factored the panels, and that the mode was chosen by earlier runs where that is so.
void add_places(JsonRecord& record, const FactorPlan& plan, const PanelPlaces& panels);

}  // namespace basalt
