#pragma once

#include <cstddef>

#include <basalt/device.hpp>
#include <basalt/panel_design.hpp>
#include <basalt/view.hpp>

#include "kernels/panel_log.hpp"
#include "kernels/row_moves.hpp"

/// LU with partial pivoting of a column panel on one GPU.
namespace basalt::cuda_kernels {

/// Panels whose rows do not begin at multiples of 16 bytes are factored by steps where cluster or grid is asked for.
using PanelDesign = GpuPanelDesign;

struct PanelPlan {
    PanelDesign design = PanelDesign::cluster;
    int blocks = 0;      ///< thread blocks, one to an SM; of a cluster the next of 4, 8, 16; 0: as the height asks for
    int leaf_width = 0;  ///< columns that are factored on chip; 0: as many as fit
    /// Design fused: taller leaves are factored by steps, the paper's T; 0: those that registers do not hold.
    Index tallest_leaf = 0;
    /// blocks = 0, designs cluster and grid: about so many rows to a block, of which a cluster has 4, 8 or 16.
    Index rows_a_block = 128;
};

/// The plan for a panel that is factored while the GPU also updates: few blocks, as long as they hold it. Every panel
/// fits.
template <class T>
PanelPlan panel_plan(int device, Index rows);

/// Whether the GPU can run such a plan for a panel of so many rows and columns of T.
template <class T>
bool panel_fits(int device, Index rows, PanelPlan plan);

/// Bytes that panel_factor() needs in the device's memory, for any plan.
std::size_t panel_workspace(Index rows, Index cols);

/// panel = P L U in place, LAPACK's getrf, enqueued on the stream.
///
/// `panel` is m x n, row-major, any m, n <= 1024. pivots[k], k < min(m, n), is the 0-based row of the panel
/// exchanged with row k, in sequence. *info is LAPACK's INFO: 0, or the 1-based number of the first pivot that is
/// exactly zero; the factorization is completed all the same. A NaN on the diagonal stays the pivot, a NaN below it is
/// never chosen. The same input and plan give the same bits. `workspace` holds panel_workspace() bytes, aligned to 256;
/// its contents are of no matter before and after. All pointers are to the device's memory. Throws DeviceError where a
/// launch fails. For float and double. CPU twin: kernels/cpu/panel.hpp.
///
/// `log`, in the device's memory, is begun anew and gets what blocks are busy with; in double precision alone, and not
/// from the kernels of the design `steps` nor from what runs between kernels. `moves`, of all or none of the pivots,
/// gets what the interchanges move, as from find_row_moves().
template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelPlan plan,
                  PanelLog log = {}, RowMoves moves = {});

/// By panel_plan().
template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelLog log = {});

}  // namespace basalt::cuda_kernels
