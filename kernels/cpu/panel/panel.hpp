#pragma once

#include <basalt/team.hpp>
#include <basalt/view.hpp>

#include "kernels/cpu/panel/workspace.hpp"

namespace basalt {

/// LU with partial pivoting of one column of tiles by a gang: panel = P L U in place, LAPACK's getrf.
///
/// Called once by every member of the team with the same arguments. `panel` is m x n, row-major (unit column
/// stride), any leading dimension, any m and n, 0 included. pivots[k], k < min(m, n), is the 0-based row of
/// the panel exchanged with row k, in sequence. Returns LAPACK's INFO on every member: 0, or the 1-based
/// number of the first pivot that is exactly zero; the factorization is completed all the same. A NaN on the
/// diagonal stays the pivot, a NaN below it is never chosen, as in BLAS's idamax.
///
/// The same input gives the same bits, whatever the number of members. When it returns, all members' results are
/// visible to every member. Lock-free, one synchronisation a column. Throws std::invalid_argument (on every
/// member) where the workspace does not fit or the panel is not row-major.
///
/// Source: Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore
/// System with Accelerators", section 3.3 (recursion, rows fixed to threads, split of swap and solve by
/// columns).
template <class T>
Index panel_factor(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared);

}  // namespace basalt
