#pragma once

#include "tasks/lu/gpu_memory.hpp"
#include "tasks/on_gpus/column_groups.hpp"

namespace basalt::detail {

/// How LU goes in the modes hybrid and gpu: the choices of LuChoices, and those that depend on the GPUs' memory.
template <class T>
struct GpuLuPlan {
    /// Makes the choices in this order: logs of panels if a trace is recorded, blocks of panels (coarse_width), the
    /// tile columns that are on the GPUs at once, and the panels that GPUs factor.
    GpuLuPlan(Runtime& runtime, const MatrixStorage& matrix, const LuChoices& made);

    LuChoices choices;
    GpuLuMemory<T> memory;
    FittingColumns fitting;
};

extern template struct GpuLuPlan<float>;
extern template struct GpuLuPlan<double>;

}  // namespace basalt::detail
