#pragma once

#include <algorithm>
#include <vector>

#include "tasks/gpu_cholesky_state.hpp"
#include "tasks/gpu_columns.hpp"
#include "tiles/cholesky_products.hpp"

namespace basalt::detail {

/// The tasks that Cholesky in the modes hybrid and gpu is made of. Of an upper triangle, panel k is the
/// transpose of its rows: column k of L = U^T.
template <class T>
class GpuCholeskyTasks {
  public:
    GpuCholeskyTasks(CholeskyState<T>& state, GpuCholeskyState<T>& on_gpus, const CholeskyChoices& choices);

    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const { return detail::first_panel(s_.panels, tile_column); }
    Index tile_column(int k) const { return panel(k).tile_column; }

    /// The panels from number k on that are factored together, of those before `end`: one, or all where one kernel
    /// takes them; none where k is the end.
    PanelRange step(int k, int end) const { return {k, k < g_.fused_from ? std::min(k + 1, end) : end}; }

    /// What updates overwrite on the other side of the diagonal, less than a panel's width from it, is kept
    /// aside and brought back.
    void save_other_side(const ColumnGroup& columns);
    void restore_other_side(const ColumnGroup& columns);

    /// Rows of panel k, which belongs to an earlier group, from panel `first`'s on, from where its factor
    /// lies now, to all GPUs.
    void reload(int k, int first);
    /// Panel k leaves the matrix for whoever factors it.
    void take_out(int k);
    /// Panels become L(:, step).
    void factor(PanelRange step);
    /// To all GPUs.
    void broadcast(int k);
    /// The factor returns to its place in the matrix.
    void put_back(int k);
    /// A(j, j') -= L(j, k) L(j', k)^T for the columns j' of some panels, of the upper triangle for the rows:
    /// a task for each GPU. `leading`: before all others.
    void update(int k, PanelRange range, bool leading);
    /// What the panels of a step get of all panels before `last`, at once. Of the lower triangle only in place.
    void update_from_left(PanelRange target, int last);
    /// INFO is that of the first panel that failed.
    void collect_info();

  private:
    /// Some rows of a panel, as they lie in a tile column of an upper triangle.
    struct RowPiece {
        Index tile_column;
        Index col, width;
        Index row;        ///< where they begin in the panel
        Index collected;  ///< and among those of their GPU
    };
    /// What lists of data hold, for kernels.
    struct Layout {
        Index rows, tile_width, ld, collected_rows;
        View<T> column(void* data) const {
            return View<T>::row_major(static_cast<T*>(data), rows, tile_width, tile_width);
        }
        View<T> piece(void* column_data, const Panel& p, const RowPiece& at) const {
            return column(column_data).block(p.first, at.col, p.width, at.width);
        }
        View<T> panel(void* data, Index width) const {
            return View<T>::row_major(static_cast<T*>(data), rows, width, ld);
        }
        View<T> collection(void* data, Index width) const {
            return View<T>::row_major(static_cast<T*>(data), collected_rows, width, ld);
        }
    };

    const TileGrid& grid() const { return g_.a->grid(); }
    Index rows() const { return grid().rows(); }
    Index tile_width() const { return grid().shape().width; }
    Layout layout() const { return {rows(), tile_width(), g_.nb, g_.memory.collected_rows()}; }
    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    PanelRange panels_of(Index tile_column) const { return {first_panel(tile_column), first_panel(tile_column + 1)}; }
    int owner(int k) const { return g_.device_of(panel(k).tile_column); }
    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }
    /// First row of what travels as one: the square of a panel that cores factor has its own way.
    Index top(int k) const { return on_gpu(k) ? panel(k).first : panel(k).end(); }

    Region<T> matrix(const Panel& p, Index row_begin, Index row_end) const {
        return g_.a->template region<T>(p.tile_column, row_begin, row_end, p.col_begin, p.col_end());
    }
    /// Panels of one tile column, from the first one's rows down.
    Region<T> matrix(PanelRange panels) const {
        const Panel &first = panel(panels.first), &last = panel(panels.last - 1);
        return g_.a->template region<T>(first.tile_column, first.first, rows(), first.col_begin, last.col_end());
    }
    Region<T> matrix(const Panel& p, const RowPiece& piece) const {
        return g_.a->template region<T>(piece.tile_column, p.first, p.end(), piece.col, piece.col + piece.width);
    }
    std::size_t slot(int k) const { return static_cast<std::size_t>(slot_[static_cast<std::size_t>(k)]); }
    void take_slot(int k) {
        slot_[static_cast<std::size_t>(k)] = static_cast<int>(slots_taken_++ % g_.memory.panel_slots());
    }
    /// Rows of panel k where it is factored and where updates read it.
    Region<T> panel_rows(int k, Index begin, Index end) const;
    Region<T> panel_rows(int k, Index begin) const { return panel_rows(k, begin, rows()); }
    Region<T> triangle(int k) const;

    std::vector<RowPiece> row_pieces(int k, int gpu) const;
    Region<T> collected(int gpu, const std::vector<RowPiece>& pieces) const;

    static TaskOptions step_task(TaskName name, int k, int gpu, int priority = 0);
    void take_out_triangle(int k);
    void put_back_triangle(int k);
    void take_out_rows(int k);
    void take_out_pieces(int k);
    void collect(int k, int gpu, const std::vector<RowPiece>& pieces);
    void put_back_rows(int k);
    void factor_on_cores(int k);
    void solve_on_cores(int k);
    void solve_on_gpu(int k);
    void factor_on_gpu(PanelRange step);

    /// What a step does to the tile columns of one GPU.
    struct Update {
        AccessList data;                     ///< panel k, then the tile columns
        std::vector<ProductBatch> products;  ///< counted in those
    };
    Update lower_update(int k, PanelRange range, int gpu) const;
    Update upper_update(int k, PanelRange range, int gpu) const;
    void lower_from_left(PanelRange target, int last);
    void upper_from_left(int target, int last);

    /// Above 0: on streams of high priority.
    static constexpr int urgent = 1;

    CholeskyState<T>& s_;
    GpuCholeskyState<T>& g_;
    Runtime& rt_;
    const CholeskyChoices choices_;
    std::vector<int> slot_;  ///< by panel: where it is while it is on its way
    Index slots_taken_ = 0;
    std::vector<std::vector<int>> factored_;  ///< by GPU: the panels that it factors
};

extern template class GpuCholeskyTasks<float>;
extern template class GpuCholeskyTasks<double>;

}  // namespace basalt::detail
