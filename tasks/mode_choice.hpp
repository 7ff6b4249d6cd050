#pragma once

#include <functional>
#include <vector>

#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"

namespace basalt::detail {

/// Of `modes`, the one in which runs take the shortest time by what the runtime's models have learnt. It has to be 3 % shorter than
/// `by_rule`, which stays where nothing was learnt of it near that size: there is nothing to compare with then, and the
/// run that follows is what will be learnt. `case_of` says what is run in a mode. The same models give the same choice.
ModeChoice learnt_mode(const Runtime& runtime, FactorMode by_rule, const std::vector<FactorMode>& modes,
                       const std::function<RunCase(FactorMode)>& case_of);

}  // namespace basalt::detail
