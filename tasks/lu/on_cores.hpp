#pragma once

#include "tasks/lu/options.hpp"
#include "tasks/lu/state.hpp"

namespace basalt::detail {

/// Submits the LU factorization of mode cpu: right-looking, by blocks of panels, panels by gangs.
template <class T>
void submit_lu_on_cores(LuState<T>& state, const LuChoices& choices);

}  // namespace basalt::detail
