#pragma once

#include <optional>
#include <vector>

#include "basalt/runtime.hpp"
#include "tasks/on_gpus/panel_ring.hpp"
#include "tasks/on_gpus/priorities.hpp"
#include "tasks/qr/gpu_state.hpp"
#include "tasks/qr/options.hpp"
#include "tasks/qr/state.hpp"

namespace basalt::detail {

/// The tasks of a QR factorization in the modes hybrid and gpu. A call submits each of them; the loop nest in
/// tasks/qr/on_gpus.cpp makes the calls. Panels are numbered from 0; a panel's step has its number.
template <class T>
class GpuQrTasks {
  public:
    GpuQrTasks(QrState<T>& state, GpuQrState<T>& on_gpus, const QrChoices& choices);

    const PanelGeometry& geometry() const { return geometry_; }
    /// From now on tasks work on the columns of that group.
    void enter_group(const ColumnGroup& group) { group_ = group; }
    ColumnPlace begin_of_group() const { return {group_.first, 0}; }

    // --- data on their way ---

    /// V and T of panel k go to all GPUs.
    void broadcast(int k);
    /// V of a panel of an earlier group comes to one GPU, made of its factors.
    void reload(int k);
    /// Column panel j moves from the matrix to the cores or the GPU that factor it, unless that is done in place.
    void take_out(int j);
    /// The factors go to their place in the matrix. Of a panel that never left it only R does.
    void put_back(int k);

    // --- panels ---

    /// A(k:, k) = (I - V T V^T) (R, 0)^T
    void factor(int k);

    // --- updates: A(k:, j) = (I - V T^T V^T) A(k:, j) ---

    /// The step on the columns of the next panel alone, so that it can be factored first.
    void update_leading(int k, int next);
    /// The step on all columns of the group from `first` on, a task for each GPU. `next`: the panel that was taken out,
    /// if any. The GPU that factors it begins its own update behind that: when the panel is done where it goes alone,
    /// otherwise when the panel finds free multiprocessors.
    void update_rest(int k, const ColumnPlace& first, std::optional<int> next = {});

  private:
    const Panel& panel(int k) const { return geometry_.panel(k); }
    Index rows() const { return geometry_.rows(); }
    Index tile_width() const { return geometry_.tile_width(); }
    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }
    /// Whether a GPU that factors the panel updates nothing meanwhile.
    bool goes_alone(int k) const { return s_.grid().cols() - panel(k).first < choices_.panels_alone_below; }

    void factor_on_cores(int k);
    void factor_on_gpu(int k);

    /// One GPU's part of a step.
    struct Part {
        int gpu;
        bool leading = false;
        std::optional<int> gate;  ///< the panel whose gate it opens, if leading, and otherwise waits for
    };
    /// Step k on the GPU's tile columns, from col_begin of the first one.
    void submit_update(int k, const Part& part, const std::vector<Index>& tile_columns, Index col_begin, Index col_end,
                       Multiplication how);
    /// How an update multiplies. On emulated devices slices are used wherever they may be.
    Multiplication products(Index rows, Index depth, Index cols) const;

    Region<T> panel_rows(int k) const {
        return g_.in_place ? s_.region(panel(k), panel(k).first, rows()) : ring_.rows(k);
    }
    Region<T> r(int k) const { return g_.buffers.r[ring_.slot(k)].rows(0, panel(k).width, panel(k).width); }
    Region<Index> taken_out(int k) const { return g_.buffers.taken_out[static_cast<std::size_t>(k)].region(); }
    Region<Index> factored(int k) const { return g_.buffers.factored[static_cast<std::size_t>(k)].region(); }
    Place owner(int k) const { return Place::gpu(geometry_.owner(k)); }
    Region<T> matrix(Index tile_column, Index row_begin, Index col_begin, Index col_end) const {
        return s_.a->template region<T>(tile_column, row_begin, rows(), col_begin, col_end);
    }

    QrState<T>& s_;
    GpuQrState<T>& g_;
    Runtime& rt_;
    const QrChoices choices_;
    const PanelGeometry& geometry_;
    PanelRing<T> ring_;
    ColumnGroup group_{};
};

}  // namespace basalt::detail
