#pragma once

#include <cstddef>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/panel/plan.hpp"
#include "kernels/on_stream/panel.hpp"
#include "kernels/panel_log.hpp"
#include "kernels/row_moves.hpp"

namespace basalt::cuda_detail {

/// The designs `cluster` and `grid` (see kernels/cuda/panel/plan.hpp): up to 256 columns in one kernel, whose blocks
/// deal out the rows and meet once a column. Wider panels are a recursion over such.
///
/// One barrier a column is rocHPL's idea (exchange, scaling, update of the next column, local maximum and publishing
/// the candidate are one step). Here rows do not move before a leaf is done, candidates carry their row, and in a
/// cluster they are stored straight into the other blocks' shared memory.
template <class T>
bool resident_fits(int device, Index rows, cuda_kernels::PanelPlan plan);

/// Bytes of workspace, for any plan.
std::size_t resident_workspace(Index cols);

/// `panel` is not empty, and `plan` fits. Kernels in double precision append to `log`, but for those
/// with leaves of less than 16 columns; `moves`, of all or
/// none of the pivots, gets what the interchanges move.
template <class T>
void factor_resident(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace,
                     cuda_kernels::PanelPlan plan, const on_stream::PanelProducts& products, PanelLog log,
                     RowMoves moves);

}  // namespace basalt::cuda_detail
