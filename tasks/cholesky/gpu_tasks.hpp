#pragma once

#include <algorithm>
#include <vector>

#include "tasks/cholesky/gpu_state.hpp"
#include "tasks/on_gpus/gpu_columns.hpp"
#include "tasks/on_gpus/panel_ring.hpp"
#include "tasks/on_gpus/priorities.hpp"
#include "tiles/cholesky_products.hpp"

namespace basalt::detail {

/// The tasks that Cholesky in the modes hybrid and gpu is made of. Of an upper triangle, panel k is the
/// transpose of its rows: column k of L = U^T.
template <class T>
class GpuCholeskyTasks {
  public:
    enum class Urgency { leading, rest };  ///< of an update: before all others, or not

    GpuCholeskyTasks(CholeskyState<T>& state, GpuCholeskyState<T>& on_gpus, const CholeskyChoices& choices);

    const PanelGeometry& geometry() const { return geometry_; }
    PanelRange panels_of(const ColumnGroup& group) const {
        return {geometry_.first_panel(group.first), geometry_.first_panel(group.last)};
    }
    Index tile_column(int k) const { return panel(k).tile_column; }

    /// The panels from k on, before `end`, that are factored together: one, or all where one kernel takes them; none
    /// where k is the end.
    PanelRange step(int k, int end) const { return {k, k < g_.fused_from ? std::min(k + 1, end) : end}; }

    /// Updates overwrite elements on the other side of the diagonal, less than a panel's width from it. These are set
    /// aside and brought back.
    void save_other_side(const ColumnGroup& columns);
    void restore_other_side(const ColumnGroup& columns);

    /// Panel k of an earlier group comes from the place of its factor to all GPUs: its rows from panel `first`'s on.
    void reload(int k, int first);
    /// Panel k moves from the matrix to the core or GPU that factors it.
    void take_out(int k);
    /// Panels become L(:, step).
    void factor(PanelRange step);
    /// To all GPUs.
    void broadcast(int k);
    /// The factor returns to its place in the matrix.
    void put_back(int k);
    /// A(j, j') -= L(j, k) L(j', k)^T for the columns j' of some panels, or the rows of an upper triangle: a task for
    /// each GPU.
    void update(int k, PanelRange range, Urgency urgency);
    /// The updates of some panels, those of one step, by the panels `by`, at once: of an upper triangle all before
    /// by.last. A lower triangle has them only in place.
    void update_from_left(PanelRange target, PanelRange by);
    /// Multiplications of such an update of a lower triangle.
    double multiplications(PanelRange target, PanelRange by) const;
    /// INFO is that of the first panel that failed.
    void collect_info();

  private:
    /// Some rows of a panel: a window of a tile column of an upper triangle.
    struct RowWindow {
        Index tile_column;
        Index col, width;
        Index row;        ///< the first of these rows in the panel
        Index collected;  ///< and among the rows that their GPU collects
    };
    /// The shapes behind lists of addresses, for kernels.
    struct Layout {
        Index rows, tile_width, ld, collected_rows;
        View<T> column(void* data) const {
            return View<T>::row_major(static_cast<T*>(data), rows, tile_width, tile_width);
        }
        View<T> window(void* column_data, const Panel& p, const RowWindow& at) const {
            return column(column_data).block(p.first, at.col, p.width, at.width);
        }
        View<T> panel(void* data, Index width) const {
            return View<T>::row_major(static_cast<T*>(data), rows, width, ld);
        }
        View<T> collection(void* data, Index width) const {
            return View<T>::row_major(static_cast<T*>(data), collected_rows, width, ld);
        }
    };

    const TileGrid& grid() const { return geometry_.grid(); }
    Index rows() const { return geometry_.rows(); }
    Index tile_width() const { return geometry_.tile_width(); }
    Layout layout() const { return {rows(), tile_width(), g_.nb, g_.memory.collected_rows()}; }
    const Panel& panel(int k) const { return geometry_.panel(k); }
    PanelRange panels_in(Index tile_column) const { return panels_of({tile_column, tile_column + 1}); }
    int owner(int k) const { return geometry_.owner(k); }
    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }
    /// The first row that travels with the panel: the square of a panel that cores factor travels by itself.
    Index top(int k) const { return on_gpu(k) ? panel(k).first : panel(k).end(); }

    Region<T> matrix(const Panel& p, Index row_begin, Index row_end) const {
        return g_.a->template region<T>(p.tile_column, row_begin, row_end, p.col_begin, p.col_end());
    }
    /// Panels of one tile column, from the first one's rows down.
    Region<T> matrix(PanelRange panels) const {
        const Panel &first = panel(panels.first), &last = panel(panels.last - 1);
        return g_.a->template region<T>(first.tile_column, first.first, rows(), first.col_begin, last.col_end());
    }
    Region<T> matrix(const Panel& p, const RowWindow& window) const {
        return g_.a->template region<T>(window.tile_column, p.first, p.end(), window.col, window.col + window.width);
    }
    /// Rows of panel k where it is factored and where updates read it.
    Region<T> panel_rows(int k, Index begin, Index end) const;
    Region<T> panel_rows(int k, Index begin) const { return panel_rows(k, begin, rows()); }
    Region<T> triangle(int k) const;

    std::vector<RowWindow> row_windows(int k, int gpu) const;
    Region<T> collected(int gpu, const std::vector<RowWindow>& windows) const;

    static TaskOptions step_task(TaskName name, int k, int gpu, int priority = 0);
    void take_out_triangle(int k);
    void put_back_triangle(int k);
    void take_out_rows(int k);
    void take_out_windows(int k);
    void collect(int k, int gpu, const std::vector<RowWindow>& windows);
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
    void lower_from_left(PanelRange target, PanelRange by);
    void upper_from_left(int target, int last);

    CholeskyState<T>& s_;
    GpuCholeskyState<T>& g_;
    Runtime& rt_;
    const CholeskyChoices choices_;
    const PanelGeometry& geometry_;
    PanelRing<T> ring_;
    std::vector<std::vector<int>> factored_;  ///< by GPU: the panels that it factors
};

extern template class GpuCholeskyTasks<float>;
extern template class GpuCholeskyTasks<double>;

}  // namespace basalt::detail
