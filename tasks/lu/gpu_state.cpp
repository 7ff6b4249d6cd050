#include "tasks/lu/gpu_state.hpp"

#include <algorithm>

namespace basalt::detail {

template <class T>
GpuLuState<T>::GpuLuState(LuState<T>& lu, const GpuLuPlan<T>& plan)
    : geometry(lu.panels, lu.grid(), lu.a->deal()),
      nb(plan.memory.panel_width()),
      block_width(plan.memory.block_width()),
      panel_slots(plan.memory.panel_slots()),
      fitting(plan.fitting),
      in_place(plan.memory.in_place(fitting.group)),
      inverse_is_safe(lu.panels.size()) {
    // Panels pass through the host's memory where cores factor them, where memory is so short that they might have to
    // leave a GPU, and where GPUs do not reach each other.
    const bool come_home = plan.choices.mode != LuMode::gpu || out_of_core() || !gpus_reach_each_other(lu.runtime);
    const Index share = ceil_div(std::min(fitting.group, lu.grid().tile_cols()), geometry.gpus());
    memory_ =
        plan.memory.layout(share, come_home ? ScratchHome::pinned : ScratchHome::addresses, buffers).make(lu.runtime);
}

template struct GpuLuState<float>;
template struct GpuLuState<double>;

}  // namespace basalt::detail
