#pragma once

#include <vector>

#include "tasks/on_gpus/gpu_columns.hpp"
#include "tiles/dealt_columns.hpp"
#include "tiles/grid.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// Column number `col` of a tile column.
struct ColumnPlace {
    Index tile_column;
    Index col;
};

/// Where the panels of a factorization on GPUs lie: their numbers, columns and GPUs. Refers to the panels and the grid.
class PanelGeometry {
  public:
    PanelGeometry(const std::vector<Panel>& panels, const TileGrid& grid, const ColumnDeal& deal)
        : panels_(&panels), grid_(&grid), deal_(deal) {}

    int steps() const { return static_cast<int>(panels_->size()); }
    const Panel& panel(int k) const { return (*panels_)[static_cast<std::size_t>(k)]; }
    const std::vector<Panel>& panels() const { return *panels_; }
    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const { return detail::first_panel(*panels_, tile_column); }

    const TileGrid& grid() const { return *grid_; }
    Index rows() const { return grid_->rows(); }
    Index tile_width() const { return grid_->shape().width; }
    /// Where the columns right of panel k begin. The last panel may end inside a tile column: of a matrix with fewer
    /// rows than columns, or of columns that do not fill it.
    ColumnPlace behind(int k) const {
        const Panel& p = panel(k);
        if (p.col_end() < tile_width()) return {p.tile_column, p.col_end()};
        return {p.tile_column + 1, 0};
    }

    int gpus() const { return deal_.gpus(); }
    /// The GPU that has a tile column.
    int gpu_of(Index tile_column) const { return deal_.gpu_of(tile_column); }
    /// The GPU that has panel k.
    int owner(int k) const { return gpu_of(panel(k).tile_column); }
    /// Tile columns [begin, end) of one GPU.
    std::vector<Index> columns_of(int gpu, Index begin, Index end) const { return deal_.of_gpu(gpu, begin, end); }

  private:
    const std::vector<Panel>* panels_;
    const TileGrid* grid_;
    ColumnDeal deal_;
};

}  // namespace basalt::detail
