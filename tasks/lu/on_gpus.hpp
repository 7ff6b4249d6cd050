#pragma once

#include "tasks/lu/options.hpp"
#include "tasks/lu/state.hpp"

namespace basalt::detail {

/// Submits the LU factorization of the modes hybrid and gpu: cores or GPUs factor panels, GPUs update the columns to
/// their right.
///
/// Source: Kurzak, Luszczek, Faverge, Dongarra (IEEE TPDS 24, 2013), sections 3.1, 3.5 and 3.6; multiplication by the
/// inverse of the triangle: Volkov, Demmel (SC 2008), section 5.
template <class T>
void submit_lu_on_gpus(LuState<T>& state, const LuChoices& choices);

}  // namespace basalt::detail
