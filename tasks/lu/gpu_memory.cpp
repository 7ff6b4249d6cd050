#include "tasks/lu/gpu_memory.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cuda/panel/plan.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/split_product.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/lu/panel_logs.hpp"
#include "tasks/on_gpus/panel_ring.hpp"

namespace basalt::detail {

namespace {

constexpr Index few = 1;  ///< numbers of a workspace that is declared and not used

/// Numbers (Index) that hold `bytes` bytes.
Index numbers_for(std::size_t bytes) { return static_cast<Index>((bytes + sizeof(Index) - 1) / sizeof(Index)); }

bool is_emulated(const Runtime& runtime) { return gpus_of(runtime).device(0).emulated(); }

/// Whether the rows of all panels begin at multiples of 16 bytes, if tile columns do.
template <class T>
bool panels_are_aligned(const TileGrid& grid, const PanelWidths& widths) {
    constexpr Index unit = 16 / sizeof(T);
    const std::vector<Panel> panels = cut_panels(grid, widths);
    return grid.shape().width % unit == 0 &&
           std::all_of(panels.begin(), panels.end(), [](const Panel& panel) { return panel.col_begin % unit == 0; });
}

}  // namespace

template <class T>
GpuLuMemory<T>::GpuLuMemory(const Runtime& runtime, const TileGrid& grid, const LuChoices& choices, bool aligned)
    : gpus_(runtime.gpus()),
      rows_(grid.rows()),
      width_(grid.shape().width),
      tile_cols_(grid.tile_cols()),
      nb_(std::min(choices.widths.width, width_)),
      block_(choices.coarse_width.value_or(0) <= 0 ? 0 : std::clamp(*choices.coarse_width, nb_, std::max(nb_, width_))),
      cores_factor_(choices.mode != LuMode::gpu),
      may_be_in_place_(gpus_ == 1 && !cores_factor_ && block_ == 0 && aligned &&
                       panels_are_aligned<T>(grid, choices.widths)),
      panels_(count_panels(grid, choices.widths)),
      slots_(std::clamp<Index>(panels_, 1, std::max<Index>(choices.lookahead, 1) + 2)),
      scaled_(choices.scales_columns<T>() ? grid.tile_cols() : 0),
      by_slices_(!is_emulated(runtime) && sizeof(T) == sizeof(float) && has_slices(choices.products)),
      // on an emulated GPU panels are the CPU's, which have a workspace of their own
      panel_numbers_(is_emulated(runtime) ? few : numbers_for(cuda_kernels::panel_workspace(rows_, nb_))) {
    if (!choices.panel_log) return;
    for (const Panel& panel : cut_panels(grid, choices.widths)) {
        logs_.push_back(PanelLogs::shape(runtime, panel, rows_));
    }
}

template <class T>
Index GpuLuMemory<T>::slice_numbers(Index cols) const {
    if (!by_slices_) return few;
    return numbers_for(split_workspace(rows_, std::max(nb_, block_), cols));
}

template <class T>
ScratchLayout GpuLuMemory<T>::layout(Index columns, ScratchHome panels, GpuLuBuffers<T>& buffers) const {
    // blocks of panels leave a GPU only where it is short of memory, as panels do
    const ScratchHome blocks = panels == ScratchHome::pinned ? ScratchHome::pageable : ScratchHome::addresses;
    constexpr Index blocks_at_once = 2;  // one is gathered while the other is multiplied by
    const Index inverses = cores_factor_ ? panels_ : 0, packed = cores_factor_ ? slots_ : 0;
    ScratchLayout all;
    all.add(buffers.panels, PanelRing<T>::shape(in_place(columns) ? 0 : slots_, rows_, nb_, panels));
    all.add(buffers.blocks, {.name = "block of panels",
                             .rows = rows_,
                             .cols = block_,
                             .count = block_ > 0 ? blocks_at_once : 0,
                             .on_a_gpu = blocks_at_once,
                             .home = blocks});
    all.add(buffers.packed, {.name = "packed U",
                             .rows = aligned(packed_size<T>(nb_, nb_)),
                             .count = packed,
                             .home = ScratchHome::pageable});
    all.add(buffers.inverses,
            {.name = "inverses", .rows = nb_, .cols = inverted_block, .count = inverses, .on_a_gpu = inverses});
    all.add(buffers.moves, {.name = "row moves", .rows = 2 * nb_, .count = panels_, .on_a_gpu = panels_});
    all.add(buffers.results, {.name = "pivots of a panel", .rows = nb_ + 1, .count = panels_, .on_a_gpu = panels_});
    all.add(buffers.gates, {.name = "gate", .rows = 1, .count = panels_, .on_a_gpu = panels_});
    all.add(buffers.magnitudes,
            {.name = "magnitudes of columns", .rows = aligned(width_), .count = scaled_, .on_a_gpu = scaled_});
    for (const ScratchShape& log : logs_) all.add(buffers.logs, log);
    const auto on_each_gpu = [&](auto& to, const char* name, Index size) {
        all.add(to,
                {.name = name, .rows = aligned(size), .count = gpus_, .on_a_gpu = 1, .home = ScratchHome::addresses});
    };
    on_each_gpu(buffers.lead_rows, "leading rows", nb_ * nb_);
    on_each_gpu(buffers.rest_rows, "top rows", std::max(nb_, block_) * width_ * columns);
    on_each_gpu(buffers.panel_workspaces, "panel workspace", panel_numbers_);
    on_each_gpu(buffers.lead_slices, "slices", slice_numbers(nb_));
    on_each_gpu(buffers.rest_slices, "slices", slice_numbers(width_ * columns));
    return all;
}

template <class T>
std::size_t GpuLuMemory<T>::workspace(Index columns) const {
    GpuLuBuffers<T> none;
    return layout(columns, ScratchHome::pinned, none).gpu_bytes();
}

template class GpuLuMemory<float>;
template class GpuLuMemory<double>;

}  // namespace basalt::detail
