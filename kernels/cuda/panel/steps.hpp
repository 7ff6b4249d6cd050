#pragma once

#include <cstddef>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/panel/shape.hpp"

namespace basalt::cuda_detail {

/// Bytes of workspace for leaves of `rows` rows.
std::size_t steps_workspace(Index rows);

/// Columns [first, first + cols) of the panel, cols <= steps_width, from row `first` down, by three kernels a column:
/// the search, by blocks of threads and then among their candidates, where rows are exchanged as well; and the scaling
/// with the rank-1 update. pivots[first + k] are counted from the panel's first row. Abdelfattah et al., section
/// 6.5.1, design D1; there one block searches.
template <class T>
void factor_leaf_by_steps(Stream stream, View<T> panel, Index first, Index cols, Index* pivots, Index* info,
                          void* workspace);

/// The design `steps` (see kernels/cuda/panel/plan.hpp). `width`: columns of a leaf, or 0. *info is 0 before.
template <class T>
void factor_by_steps(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, int width);

}  // namespace basalt::cuda_detail
