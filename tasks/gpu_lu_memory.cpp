#include "tasks/gpu_lu_memory.hpp"

#include <algorithm>

#include "basalt/lu.hpp"
#include "kernels/cuda/panel.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/split_product.hpp"
#include "tasks/column_groups.hpp"
#include "tasks/scratch_matrix.hpp"
#include "tiles/panels.hpp"

namespace basalt {

namespace detail {

GpuLuMemory::GpuLuMemory(const TileGrid& grid, std::size_t element_size, const LuChoices& choices, bool emulated)
    : rows_(grid.rows()),
      width_(grid.shape().width),
      element_size_(element_size),
      nb_(std::min(choices.widths.width, width_)),
      block_(choices.coarse_width <= 0 ? 0 : std::clamp(choices.coarse_width, nb_, std::max(nb_, width_))),
      panels_(count_panels(grid, choices.widths)),
      inverted_rows_(choices.mode == LuMode::gpu ? 0 : panels_ * nb_),
      slots_(std::clamp<Index>(panels_, 1, std::max<Index>(choices.lookahead, 1) + 2)),
      panel_numbers_(aligned(1)),
      by_pieces_(!emulated && element_size == sizeof(float) && choices.split_products && !choices.tf32) {
    constexpr std::size_t size = sizeof(Index);
    if (!emulated)
        panel_numbers_ = aligned(static_cast<Index>((cuda_kernels::panel_workspace(rows_, nb_) + size - 1) / size));
}

Index GpuLuMemory::pieces_numbers(Index cols) const {
    if (!by_pieces_) return aligned(1);
    return aligned(static_cast<Index>(split_workspace(rows_, deepest(), cols) / sizeof(Index)));
}

std::size_t GpuLuMemory::workspace(Index columns) const {
    const Index elements = slots_ * rows_ * nb_ + 2 * rows_ * block_ + inverted_rows_ * inverted_block + nb_ * nb_ +
                           deepest() * width_ * columns;
    // what the interchanges of each panel move, its pivots and INFO, its gate
    const Index lists = panels_ * (aligned(2 * nb_) + aligned(nb_ + 1) + aligned(1));
    const Index numbers = lists + panel_numbers_ + pieces_numbers(nb_) + pieces_numbers(width_ * columns);
    return static_cast<std::size_t>(elements) * element_size_ + static_cast<std::size_t>(numbers) * sizeof(Index);
}

namespace {

/// Of each GPU, where all tile columns are on them.
std::size_t bytes_in_all(const Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                         const LuChoices& choices) {
    const GpuLuMemory memory(grid, element_size, choices, runtime.devices().front().emulated);
    const Index columns = ceil_div(grid.tile_cols(), runtime.gpus());
    return bytes_with_columns(grid, element_size, columns, memory.workspace(columns));
}

}  // namespace

Index chosen_coarse_width(const Runtime& runtime, const TileGrid& grid, std::size_t element_size,
                          const LuChoices& choices) {
    const GpuTuning::Lu::Blocks& blocks = runtime.tuning().gpu.lu.blocks;
    const bool has_levels = choices.mode == LuMode::gpu && choices.lookahead > 0 && !choices.single_update_task;
    if (!has_levels || runtime.gpus() > 1 || element_size < sizeof(double)) return 0;
    if (std::min(grid.rows(), grid.cols()) < blocks.least_order) return 0;
    if (std::min(blocks.width, grid.shape().width) < 2 * choices.widths.width) return 0;  // blocks of one panel
    LuChoices with_blocks = choices;
    with_blocks.coarse_width = blocks.width;
    const bool fits = bytes_in_all(runtime, grid, element_size, with_blocks) <= runtime.devices().front().memory / 2;
    return fits ? blocks.width : 0;
}

}  // namespace detail

std::size_t lu_gpu_bytes(const Runtime& runtime, const LuOptions& options, Index m, Index n, TileShape tile,
                         std::size_t element_size) {
    const detail::LuChoices choices(runtime.tuning(), options, m, n, runtime.workers(), runtime.gpus());
    if (choices.mode == LuMode::cpu) return 0;
    return detail::bytes_in_all(runtime, TileGrid(m, n, tile), element_size, choices);
}

}  // namespace basalt
