#pragma once

#include "kernels/cpu/row_swap.hpp"
#include "tasks/lu_state.hpp"

namespace basalt::detail {

/// All interchanges of panels later than k, composed: how the rows below panel k's diagonal block move in its columns.
/// The pivots are there.
template <class T>
RowPermutation left_permutation(const LuState<T>& state, int k);

/// Submits the tasks that apply it on cores, each to some of the columns.
template <class T>
void submit_interchange_left(LuState<T>& state, int k);

}  // namespace basalt::detail
