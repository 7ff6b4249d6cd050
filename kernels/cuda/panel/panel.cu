#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/panel/fused.hpp"
#include "kernels/cuda/panel/plan.hpp"
#include "kernels/cuda/panel/resident.hpp"
#include "kernels/cuda/panel/shape.hpp"
#include "kernels/cuda/panel/steps.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/panel.hpp"
#include "kernels/on_stream/rows.hpp"

namespace basalt::on_stream {

namespace {

using cuda_kernels::PanelDesign;

/// Columns of a leaf of the design `fused`, each a block; 0 leaves it to the design.
int fused_leaf_width(PanelPlan plan) {
    if (plan.leaf_width == 0 || plan.blocks == 0) return std::max(plan.leaf_width, plan.blocks);
    return std::min(plan.leaf_width, plan.blocks);
}

/// No entries yet.
void begin_log(Stream stream, const PanelLog& log) {
    if (!log) return;
    const std::size_t pitch = log.bytes() / static_cast<std::size_t>(log.blocks);
    cuda_detail::check(cudaMemset2DAsync(log.memory, pitch, 0, sizeof(PanelLogEntry),
                                         static_cast<std::size_t>(log.blocks), cuda_detail::native(stream)),
                       "cudaMemset2DAsync", stream);
}

/// Whether the GPU can run the plan for panels of this height.
template <class T>
bool can_run(int device, Index rows, const PanelPlan& plan) {
    switch (plan.design) {
        case PanelDesign::cluster:
        case PanelDesign::grid: return cuda_detail::resident_fits<T>(device, rows, plan);
        case PanelDesign::fused: {
            const int width = fused_leaf_width(plan), limit = cuda_detail::fused_width_limit<T>(device, rows);
            return (width == 0 ? cuda_detail::fused_width : width) <= limit;
        }
        case PanelDesign::steps: return plan.leaf_width <= cuda_detail::steps_width;
    }
    return false;
}

}  // namespace

template <class T>
bool run_on_gpu(PanelFits<T>, Stream stream, Index rows, const PanelPlan& plan) {
    return can_run<T>(stream.device(), rows, plan);
}

template <class T>
void run_on_gpu(PanelFactor<T>, Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace,
                const PanelPlan& plan, const PanelProducts& products, PanelLog log, RowMoves moves) {
    assert(panel.col_stride() == 1 || panel.cols() <= 1);
    assert(moves.count == 0 || moves.count == std::min(panel.rows(), panel.cols()));
    begin_log(stream, log);
    const bool resident = plan.design == PanelDesign::cluster || plan.design == PanelDesign::grid;
    if (resident && !panel.empty()) {
        return cuda_detail::factor_resident<T>(stream, panel, pivots, info, workspace, plan, products, log, moves);
    }
    cuda_detail::clear(stream, info);
    if (panel.empty()) return;
    switch (plan.design) {
        case PanelDesign::cluster:
        case PanelDesign::grid: break;
        case PanelDesign::fused:
            cuda_detail::factor_fused<T>(stream, panel, pivots, info, workspace, fused_leaf_width(plan),
                                         plan.tallest_leaf, cuda_detail::FusedUpdate::lazy, log);
            break;
        case PanelDesign::steps:
            cuda_detail::factor_by_steps<T>(stream, panel, pivots, info, workspace, plan.leaf_width);
    }
    find_row_moves(stream, pivots, moves);
}

template <>
const PanelFits<float>::Gpu Code<PanelFits<float>>::gpu = gpu_code<PanelFits<float>>;
template <>
const PanelFits<double>::Gpu Code<PanelFits<double>>::gpu = gpu_code<PanelFits<double>>;
template <>
const PanelFactor<float>::Gpu Code<PanelFactor<float>>::gpu = gpu_code<PanelFactor<float>>;
template <>
const PanelFactor<double>::Gpu Code<PanelFactor<double>>::gpu = gpu_code<PanelFactor<double>>;

}  // namespace basalt::on_stream

namespace basalt::cuda_detail {

std::size_t panel_workspace(Index rows, Index cols) {
    return std::max({steps_workspace(rows), fused_workspace(rows, cols), resident_workspace(cols)});
}

template <class T>
int panel_log_blocks(int device, Index rows, const std::vector<GpuTuning::Panel>& entries) {
    constexpr int most = 64;
    int current = 0;
    static_cast<void>(cudaGetDevice(&current));
    static_cast<void>(cudaSetDevice(device));  // kernels are prepared for the current device when it is first asked
    using cuda_kernels::PanelDesign;
    using cuda_kernels::PanelPlan;
    const PanelPlan plan = cuda_kernels::panel_plan(
        rows, entries, [&](const PanelPlan& tried) { return on_stream::can_run<T>(device, rows, tried); });
    static_cast<void>(cudaSetDevice(current));
    if (plan.design == PanelDesign::cluster) return most_cluster;
    return plan.design == PanelDesign::grid && plan.blocks > 0 ? std::min(plan.blocks, most) : most;
}

template int panel_log_blocks<float>(int, Index, const std::vector<GpuTuning::Panel>&);
template int panel_log_blocks<double>(int, Index, const std::vector<GpuTuning::Panel>&);

}  // namespace basalt::cuda_detail
