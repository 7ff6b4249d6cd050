#pragma once

#include <cstddef>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/panel/shape.hpp"
#include "kernels/panel_log.hpp"

namespace basalt::cuda_detail {

/// When columns are updated by one that is being scaled.
enum class FusedUpdate {
    lazy,    ///< when all of its multipliers have been announced
    greedy,  ///< some segments at a time, as they are announced
};

/// Tallest leaf that the registers hold.
template <class T>
Index fused_height();

/// Widest leaf for a panel of `rows` rows: its blocks have to run at once on GPU `device`.
template <class T>
int fused_width_limit(int device, Index rows);

/// Bytes of workspace.
std::size_t fused_workspace(Index rows, Index cols);

/// The design `fused` (see kernels/cuda/panel/plan.hpp). `width`: columns of a leaf, at most fused_width_limit(), or
/// 0. `tallest`: leaves of more rows go by steps, the paper's T; 0: those taller than fused_height(). *info is 0
/// before. Leaves are one kernel each, launched cooperatively. Abdelfattah et al., section 6.5.2, design D2. Here
/// multipliers go to the other blocks through a copy in the workspace, contiguous, so that the column's owner may go on
/// exchanging its rows. In double precision, leaves that do not go by steps append to `log`.
template <class T>
void factor_fused(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, int width,
                  Index tallest = 0, FusedUpdate update = FusedUpdate::lazy, PanelLog log = {});

}  // namespace basalt::cuda_detail
