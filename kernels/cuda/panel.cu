#include "kernels/cuda/panel.hpp"

#include <algorithm>
#include <cassert>
#include <string>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/panel_fused.hpp"
#include "kernels/cuda/panel_plan.hpp"
#include "kernels/cuda/panel_resident.hpp"
#include "kernels/cuda/panel_shape.hpp"
#include "kernels/cuda/panel_steps.hpp"
#include "kernels/cuda/row_exchange.hpp"

namespace basalt::cuda_kernels {

namespace {

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

/// Of the built-in tables.
const std::vector<GpuTuning::Panel>& built_in_entries(int device) {
    int major = 0, minor = 0;
    static_cast<void>(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    static_cast<void>(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    return TuningTables::built_in().for_gpu("sm_" + std::to_string(major) + std::to_string(minor)).panels;
}

}  // namespace

template <class T>
bool panel_fits(int device, Index rows, PanelPlan plan) {
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

template <class T>
PanelPlan panel_plan(int device, Index rows, const std::vector<GpuTuning::Panel>& entries) {
    for (const GpuTuning::Panel& entry : entries) {
        const PanelPlan plan{entry.design, entry.blocks, entry.leaf_width, entry.tallest_leaf, entry.rows_a_block};
        if (rows <= entry.up_to && panel_fits<T>(device, rows, plan)) return plan;
    }
    return {PanelDesign::steps};
}

template <class T>
PanelPlan panel_plan(int device, Index rows) {
    return panel_plan<T>(device, rows, built_in_entries(device));
}

std::size_t panel_workspace(Index rows, Index cols) {
    return std::max({cuda_detail::steps_workspace(rows), cuda_detail::fused_workspace(rows, cols),
                     cuda_detail::resident_workspace(cols)});
}

template <class T>
int panel_log_blocks(int device, Index rows, const std::vector<GpuTuning::Panel>& entries) {
    constexpr int most = 64;
    int current = 0;
    static_cast<void>(cudaGetDevice(&current));
    static_cast<void>(cudaSetDevice(device));  // kernels are made fit for the current device when it is first asked
    const PanelPlan plan = panel_plan<T>(device, rows, entries);
    static_cast<void>(cudaSetDevice(current));
    if (plan.design == PanelDesign::cluster) return cuda_detail::most_cluster;
    return plan.design == PanelDesign::grid && plan.blocks > 0 ? std::min(plan.blocks, most) : most;
}

template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelPlan plan,
                  PanelLog log, RowMoves moves) {
    assert(panel.col_stride() == 1 || panel.cols() <= 1);
    assert(moves.count == 0 || moves.count == std::min(panel.rows(), panel.cols()));
    begin_log(stream, log);
    const bool resident = plan.design == PanelDesign::cluster || plan.design == PanelDesign::grid;
    if (resident && !panel.empty()) {
        return cuda_detail::factor_resident<T>(stream, panel, pivots, info, workspace, plan, log, moves);
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

template <class T>
void panel_factor(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelLog log) {
    int device = 0;
    cuda_detail::check(cudaGetDevice(&device), "cudaGetDevice", stream);
    panel_factor<T>(stream, panel, pivots, info, workspace, panel_plan<T>(device, panel.rows()), log);
}

template PanelPlan panel_plan<float>(int, Index, const std::vector<GpuTuning::Panel>&);
template PanelPlan panel_plan<double>(int, Index, const std::vector<GpuTuning::Panel>&);
template PanelPlan panel_plan<float>(int, Index);
template PanelPlan panel_plan<double>(int, Index);
template bool panel_fits<float>(int, Index, PanelPlan);
template bool panel_fits<double>(int, Index, PanelPlan);
template int panel_log_blocks<float>(int, Index, const std::vector<GpuTuning::Panel>&);
template int panel_log_blocks<double>(int, Index, const std::vector<GpuTuning::Panel>&);
template void panel_factor<float>(Stream, View<float>, Index*, Index*, void*, PanelLog);
template void panel_factor<double>(Stream, View<double>, Index*, Index*, void*, PanelLog);
template void panel_factor<float>(Stream, View<float>, Index*, Index*, void*, PanelPlan, PanelLog, RowMoves);
template void panel_factor<double>(Stream, View<double>, Index*, Index*, void*, PanelPlan, PanelLog, RowMoves);

}  // namespace basalt::cuda_kernels
