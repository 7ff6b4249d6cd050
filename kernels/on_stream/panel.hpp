#pragma once

#include <basalt/product_precision.hpp>
#include <basalt/tuning.hpp>

#include "kernels/cuda/panel/leading_shape.hpp"
#include "kernels/cuda/panel/plan.hpp"
#include "kernels/on_stream/kernel.hpp"
#include "kernels/panel_log.hpp"
#include "kernels/row_moves.hpp"

/// LU with partial pivoting of a column panel, and its effect on the columns of the next panel. All pointers are to the
/// device's memory. For float and double.
namespace basalt::on_stream {

using cuda_kernels::PanelPlan;

template <class T>
struct PanelFits : Kernel<PanelFits<T>, bool(Index rows, const PanelPlan& plan)> {};
/// Whether the device can run this plan for panels of this height. An emulated device runs any plan.
template <class T>
inline constexpr PanelFits<T> panel_fits{};

/// Designs cluster and grid multiply the halves of panels wider than 256 columns outside their kernels: plainly, or, of
/// floats, by slices where worth_splitting() says so.
struct PanelProducts {
    ProductPrecision precision = ProductPrecision::plain;
    GpuSplitting splitting{};
    void* workspace = nullptr;  ///< for slices: aligned to 256 bytes, split_workspace(m, n, n) bytes
};

template <class T>
struct PanelFactor
    : Kernel<PanelFactor<T>, void(View<T> panel, Index* pivots, Index* info, void* workspace, const PanelPlan& plan,
                                  const PanelProducts& products, PanelLog log, RowMoves moves)> {};
/// panel = P L U in place, LAPACK's getrf.
///
/// `panel` is m x n, row-major, any m, n <= 1024. pivots[k], k < min(m, n), is the 0-based row of the panel that is
/// exchanged with row k, in sequence. *info is LAPACK's INFO: 0, or the 1-based number of the first pivot that is
/// exactly zero; the factorization is completed all the same. A NaN on the diagonal stays the pivot, a NaN below it is
/// never chosen. The same input, plan and products give the same bits. `workspace` is aligned to 256 bytes and holds
/// panel_workspace() bytes, of any contents; the CPU twin allocates its own, and multiplies plainly.
///
/// `log` is cleared and records the states of the blocks: in double precision only, and neither for the design `steps`
/// nor for what runs between kernels. `moves`, of all or none of the pivots, gets the moves of the interchanges, as
/// from find_row_moves().
template <class T>
inline constexpr PanelFactor<T> panel_factor{};

template <class T>
struct LeadingUpdateFits : Kernel<LeadingUpdateFits<T>, bool(View<const T> l, View<T> a)> {};
/// Whether update_leading() takes these operands: leading_shape_fits(), and the GPU has clusters of 16 blocks. The
/// first call for a GPU asks CUDA, and prepares the kernels. Emulated devices take the same shapes, though their twin
/// could take all.
template <class T>
inline constexpr LeadingUpdateFits<T> leading_update_fits{};

template <class T>
struct UpdateLeading : Kernel<UpdateLeading<T>, void(View<const T> l, RowMoves moves, View<T> a)> {};
/// Applies a factored panel L (a unit lower triangle above a rectangle) to columns A right of it, of as many rows: the
/// interchanges `moves` (of l.cols() rows, in numbers of A's rows), U = L^-1 A in the top rows, A -= L U below. The
/// same as exchange_rows(), solve_by_substitution() and update_trailing(), but faster for few columns: one launch,
/// whose blocks work on 32 columns each. Requires leading_update_fits(). Where the number of columns is odd, the
/// element right of the last one is read.
template <class T>
inline constexpr UpdateLeading<T> update_leading{};

}  // namespace basalt::on_stream
