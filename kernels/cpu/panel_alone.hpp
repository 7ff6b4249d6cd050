#pragma once

#include <basalt/view.hpp>

#include "kernels/panel_log.hpp"
#include "kernels/row_moves.hpp"

/// The gang panel (kernels/cpu/panel.hpp) with a gang of one: the twin of kernels/cuda/panel.hpp.
namespace basalt::cpu_kernels {

/// panel = P L U in place. `panel` is m x n, row-major, any m and n; pivots[k], k < min(m, n), is the 0-based row
/// exchanged with row k; *info is LAPACK's INFO. Allocates its scratch. `log` is begun anew and gets what this one
/// block is busy with, by std::chrono::steady_clock; `moves`, of all or none of the pivots, what the interchanges move.
/// For float and double.
template <class T>
void panel_factor(View<T> panel, Index* pivots, Index* info, PanelLog log = {}, RowMoves moves = {});

}  // namespace basalt::cpu_kernels
