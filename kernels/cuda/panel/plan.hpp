#pragma once

#include <cstddef>
#include <vector>

#include <basalt/panel_design.hpp>
#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"

namespace basalt::cuda_kernels {

/// Panels whose rows do not begin at multiples of 16 bytes are factored by steps where cluster or grid is asked for.
using PanelDesign = GpuPanelDesign;

/// How a GPU factors a panel of LU.
struct PanelPlan {
    PanelDesign design = PanelDesign::cluster;
    int blocks = 0;      ///< thread blocks, one to an SM; of a cluster the next of 4, 8, 16; 0: chosen by the height
    int leaf_width = 0;  ///< columns that are factored on chip; 0: as many as fit, at least 16 where blocks are named
    /// Design fused: taller leaves are factored by steps, the paper's T; 0: those that registers do not hold.
    Index tallest_leaf = 0;
    /// blocks = 0, designs cluster and grid: about this many rows to a block; a cluster has 4, 8 or 16 blocks.
    Index rows_a_block = 128;
};

/// The lowest compute capability that has what a design needs. Designs cluster and grid wait at barriers in shared
/// memory that count bytes, and clusters came with the same GPUs.
constexpr int lowest_capability(PanelDesign design) {
    return design == PanelDesign::cluster || design == PanelDesign::grid ? 90 : 0;
}

/// The plan that an entry of a tuning table describes.
inline PanelPlan plan_of(const GpuTuning::Panel& entry) {
    return {entry.design, entry.blocks, entry.leaf_width, entry.tallest_leaf, entry.rows_a_block};
}

/// The plan for a panel that is factored while the GPU also updates: the first of `entries` that reaches up to its rows
/// and for which fits(plan) holds; kernels for each step where there is none. Every panel fits.
template <class Fits>
PanelPlan panel_plan(Index rows, const std::vector<GpuTuning::Panel>& entries, const Fits& fits) {
    for (const GpuTuning::Panel& entry : entries) {
        const PanelPlan plan = plan_of(entry);
        if (rows <= entry.up_to && fits(plan)) return plan;
    }
    return {PanelDesign::steps};
}

}  // namespace basalt::cuda_kernels

namespace basalt::cuda_detail {

std::size_t panel_workspace(Index rows, Index cols);
template <class T>
int panel_log_blocks(int device, Index rows, const std::vector<GpuTuning::Panel>& entries);

}  // namespace basalt::cuda_detail

namespace basalt::cuda_kernels {

/// Bytes that panel_factor() needs in a GPU's memory, for any plan.
inline std::size_t panel_workspace(Index rows, Index cols) {
    return on_stream::on_gpus_only([=] { return cuda_detail::panel_workspace(rows, cols); });
}

/// Blocks that log a panel by panel_plan() on GPU `device`, but 64 at most.
template <class T>
int panel_log_blocks(int device, Index rows, const std::vector<GpuTuning::Panel>& entries) {
    return on_stream::on_gpus_only([&] { return cuda_detail::panel_log_blocks<T>(device, rows, entries); });
}

}  // namespace basalt::cuda_kernels
