#pragma once

#include <vector>

#include <basalt/tuning.hpp>

#include "kernels/cuda/panel.hpp"

namespace basalt::cuda_kernels {

/// The plan for a panel that is factored while the GPU also updates: the first of `entries` that reaches up to its rows
/// and that the GPU can run; kernels for each step where there is none. Every panel fits.
template <class T>
PanelPlan panel_plan(int device, Index rows, const std::vector<GpuTuning::Panel>& entries);

/// Blocks that log a panel by that plan, but 64 at most.
template <class T>
int panel_log_blocks(int device, Index rows, const std::vector<GpuTuning::Panel>& entries);

}  // namespace basalt::cuda_kernels
