#pragma once

#include "tasks/cholesky/options.hpp"
#include "tasks/cholesky/state.hpp"

namespace basalt::detail {

/// Submits the Cholesky factorization of mode cpu: right-looking, by blocks of panels.
template <class T>
void submit_cholesky_on_cores(CholeskyState<T>& state, const CholeskyChoices& choices);

}  // namespace basalt::detail
