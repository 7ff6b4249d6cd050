#pragma once

#include "tasks/cholesky/options.hpp"
#include "tasks/cholesky/state.hpp"

namespace basalt::detail {

/// Submits the Cholesky factorization of the modes hybrid and gpu. An upper triangle is factored as the lower one of a
/// transposed copy.
template <class T>
void submit_cholesky_on_gpus(CholeskyState<T>& state, const CholeskyChoices& choices);

}  // namespace basalt::detail
