#pragma once

#include "kernels/cpu/rows/row_swap.hpp"
#include "tasks/lu/state.hpp"

namespace basalt::detail {

/// The interchanges of the panels from `later` on, composed: how the rows below panel k's diagonal block move in its
/// columns. The pivots are there.
template <class T>
RowPermutation left_permutation(const LuState<T>& state, int k, int later);

/// Submits the tasks that apply it on cores, each to some of the columns.
template <class T>
void submit_interchange_left(LuState<T>& state, int k, int later);

}  // namespace basalt::detail
