// LU in the modes hybrid and gpu: the choices that depend on the GPUs' memory.
#include "tasks/lu/gpu_plan.hpp"

#include <algorithm>

#include "basalt/lu.hpp"
#include "basalt/tuning.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace basalt {

namespace detail {

namespace {

/// Bytes of each GPU where all tile columns are on the GPUs.
template <class T>
std::size_t bytes_in_all(const Runtime& runtime, const TileGrid& grid, const LuChoices& choices) {
    const GpuLuMemory<T> memory(runtime, grid, choices);
    const Index columns = ceil_div(grid.tile_cols(), runtime.gpus());
    return bytes_with_columns(grid, sizeof(T), columns, memory.workspace(columns));
}

/// LuOptions::coarse_width where the library chooses it: by the tuning table, or 0 where the matrix and all that blocks
/// take need more than half of the GPU's memory, whatever else is there at the moment.
template <class T>
Index chosen_coarse_width(const Runtime& runtime, const TileGrid& grid, const LuChoices& choices) {
    const GpuTuning::Lu::Blocks& blocks = runtime.tuning().gpu.lu.blocks;
    const bool has_levels = choices.mode == LuMode::gpu && choices.lookahead > 0 && !choices.single_update_task;
    if (!has_levels || runtime.gpus() > 1 || sizeof(T) < sizeof(double)) return 0;
    if (std::min(grid.rows(), grid.cols()) < blocks.least_order) return 0;
    if (std::min(blocks.width, grid.shape().width) < 2 * choices.widths.width) return 0;  // blocks of one panel
    LuChoices with_blocks = choices;
    with_blocks.coarse_width = blocks.width;
    const bool fits = bytes_in_all<T>(runtime, grid, with_blocks) <= runtime.devices().front().memory / 2;
    return fits ? blocks.width : 0;
}

template <class T>
LuChoices completed(Runtime& runtime, const TileGrid& grid, const LuChoices& made) {
    LuChoices choices = made;
    choices.panel_log = made.panel_log && trace_of(runtime).enabled();
    if (!choices.coarse_width) choices.coarse_width = chosen_coarse_width<T>(runtime, grid, made);
    return choices;
}

}  // namespace

template <class T>
GpuLuPlan<T>::GpuLuPlan(Runtime& runtime, const MatrixStorage& matrix, const LuChoices& made)
    : choices(completed<T>(runtime, matrix.grid(), made)),
      memory(runtime, matrix.grid(), choices, matrix.adopted().aligned),
      fitting(fitting_columns(
          runtime, matrix.grid(), sizeof(T), [&](Index columns) { return memory.workspace(columns); },
          matrix.adopted())) {
    choices.expect_updates_of(fitting.group * matrix.grid().shape().width);
}

template struct GpuLuPlan<float>;
template struct GpuLuPlan<double>;

}  // namespace detail

std::size_t lu_gpu_bytes(const Runtime& runtime, const LuOptions& options, Index m, Index n, TileShape tile,
                         std::size_t element_size) {
    const detail::LuChoices choices(runtime.tuning(), options, m, n, runtime.workers(), runtime.gpus());
    if (choices.mode == LuMode::cpu) return 0;
    const TileGrid grid(m, n, tile);
    return element_size == sizeof(float) ? detail::bytes_in_all<float>(runtime, grid, choices)
                                         : detail::bytes_in_all<double>(runtime, grid, choices);
}

}  // namespace basalt
