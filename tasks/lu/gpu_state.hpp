#pragma once

#include <vector>

#include "tasks/lu/gpu_memory.hpp"
#include "tasks/lu/gpu_plan.hpp"
#include "tasks/lu/state.hpp"
#include "tasks/on_gpus/panel_geometry.hpp"

namespace basalt::detail {

/// What a factorization in the modes hybrid and gpu needs next to LuState while it runs.
template <class T>
struct GpuLuState {
    GpuLuState(LuState<T>& lu, const GpuLuPlan<T>& plan);

    /// Whether the GPUs do not hold all columns at once.
    bool out_of_core() const { return fitting.group < geometry.grid().tile_cols(); }

    const PanelGeometry geometry;
    const Index nb;           ///< widest panel
    const Index block_width;  ///< of blocks of panels, see LuOptions::coarse_width
    const Index panel_slots;  ///< panels that are on their way at once
    const FittingColumns fitting;
    const bool in_place;  ///< see GpuLuMemory

    std::vector<char> inverse_is_safe;  ///< by panel; written before the GPUs' tasks that read it are enqueued

  private:
    ScratchMemory memory_;

  public:
    GpuLuBuffers<T> buffers;
};

extern template struct GpuLuState<float>;
extern template struct GpuLuState<double>;

}  // namespace basalt::detail
