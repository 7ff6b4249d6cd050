#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "basalt/runtime.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream/products.hpp"
#include "tasks/lu/gpu_state.hpp"
#include "tasks/lu/options.hpp"
#include "tasks/lu/state.hpp"
#include "tasks/on_gpus/panel_ring.hpp"
#include "tasks/on_gpus/priorities.hpp"

namespace basalt::detail {

template <class T>
struct ColumnUpdate;

/// The tasks of an LU factorization in the modes hybrid and gpu. A call submits each of them; the loop nest in
/// tasks/lu/on_gpus.cpp makes the calls. Panels are numbered from 0; a panel's step has its number.
template <class T>
class GpuLuTasks {
  public:
    GpuLuTasks(LuState<T>& state, GpuLuState<T>& on_gpus, const LuChoices& choices);

    int steps() const { return geometry_.steps(); }
    const Panel& panel(int k) const { return geometry_.panel(k); }
    int first_panel(Index tile_column) const { return geometry_.first_panel(tile_column); }
    ColumnPlace behind(int k) const { return geometry_.behind(k); }
    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }
    /// Whether that GPU updates nothing meanwhile. The panel is then submitted in front of the update.
    bool goes_alone(int k) const;
    /// Panel k updates the columns up to here at once. It updates those beyond together with the other panels of its
    /// block. This is the end of the next block; with one level of blocking, the end of the group.
    ColumnPlace reach(int k) const;
    bool ends_block(int k) const { return !blocks_.empty() && block_of(k).last == k + 1; }

    // --- data on their way; where panels are factored in place (GpuLuMemory), panels stay where they are ---

    /// From now on tasks work on the columns of that group.
    void enter_group(const ColumnGroup& group);
    /// Panel k and its row moves go to all GPUs.
    void broadcast(int k);
    /// A panel of an earlier group comes to one GPU from the place of its factors.
    void reload(int k);
    /// Column panel j moves from the matrix to its own buffer, from row `top` on.
    void take_out(int j, Index top, int priority);
    void send_to_cores(int j) const;
    /// The factors return to their place in the matrix.
    void put_back(int k);
    /// The priority of the next panel's copy to its buffer in step k.
    int patience_of_copy(int k) const { return patience(k, next_copy); }

    /// Columns of the group are scaled, if they are: their largest elements come near 1.
    void scale_columns();
    /// U is final in the group's tile columns left of that one: their scaling is undone where it was not yet.
    void scale_back_before(Index tile_column);

    // --- on cores ---

    void factor(int k);
    /// L(k, k)^-1 of panel k, and the row moves of its interchanges.
    void prepare(int k);
    /// A(k:, j) = step k of column panel j, which the cores have: lookahead deeper than one.
    void update_on_cores(int k, int j);

    // --- on GPUs ---

    /// A(k:, k) = P L U on the GPU that has the columns, and the row moves. Pivots and INFO go to the host; no GPU
    /// waits for that.
    void factor_on_gpu(int k);
    /// The step on the next panel alone, where it is factored, so that it can be factored first.
    void update_leading(int k, int next);
    /// The step on all columns of the group from `first` to `end`, a task for each GPU; the first step has one for each
    /// tile column, see update_one_by_one(). `next`: the panel whose leading update precedes, if any.
    void update_rest(int k, const ColumnPlace& first, const ColumnPlace& end, std::optional<int> next = {});
    /// Panel k joins the panels of its block; its interchanges move their rows.
    void gather(int k);
    /// The steps of the block that panel k ends, at once, on the columns beyond their reach.
    void update_beyond(int k, int next);
    /// Panel k's interchanges in the columns left of it, behind the updates. `next`: see update_rest().
    void interchange_left(int k, std::optional<int> next);

    ColumnPlace begin_of_group() const { return {group_.first, 0}; }
    ColumnPlace end_of_group() const { return {group_.last, 0}; }

  private:
    /// The order of a step's tasks that are not urgent: the factors' return, the update, the next panel's copy, a
    /// block's panels and their update, the interchanges on the left.
    enum Patience { put_back_first, update_second, next_copy, block_of_panels, interchanges_last, patiences };
    int patience(int k, Patience number) const { return -patiences * (steps_before_ + k) - number; }

    /// Panels [first, last), whose columns of L are `ld` apart, update together.
    struct Factors {
        int first;
        int last;
        Region<T> l;
        Index ld;
        Index col;  ///< first column of L in its datum
        Patience patience;
    };
    Factors of_panel(int k) const {
        if (g_.in_place) return {k, k + 1, panel_rows(k), tile_width(), panel(k).col_begin, update_second};
        return {k, k + 1, panel_rows(k), g_.nb, 0, update_second};
    }

    /// One GPU's part of a step.
    struct Part {
        int gpu;
        bool leading = false;
        std::optional<int> gate;  ///< the panel whose gate it opens, if leading, and otherwise waits for
        Index cols;
    };

    void update_one_by_one(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end,
                           std::optional<int> next);
    void update_columns(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end,
                        std::optional<int> next);
    template <class F>
    void submit_update(const Factors& factors, const Part& part, const GpuColumns<T>& columns, const F& add_columns);
    template <class F>
    void submit(ColumnUpdate<T>& update, TaskName name, const Factors& factors, const Part& part, const F& add_columns);
    std::optional<int> gate_on(int gpu, std::optional<int> next) const;
    /// Of doubles there are none, whatever the options say.
    bool slices_are_chosen() const { return std::is_same_v<T, float> && has_slices(choices_.products); }
    bool by_slices(Index rows, Index depth, Index cols) const;
    on_stream::RoomForOthers room_for_panel(const Part& part, Index rows_below, Index depth) const;

    /// Rows of panel k where it is factored: in its buffer, or in the matrix.
    Region<T> panel_rows(int k, Index begin, Index end) const {
        return g_.in_place ? s_.region(panel(k), begin, end) : ring_.rows(k, begin, end);
    }
    Region<T> panel_rows(int k) const { return panel_rows(k, panel(k).first, rows()); }
    Index rows() const { return geometry_.rows(); }
    Index tile_width() const { return geometry_.tile_width(); }
    Region<T> inverse(int k) const {
        return g_.buffers.inverses[static_cast<std::size_t>(k)].rows(0, panel(k).width, inverted_block);
    }
    Region<Index> moves(int k) const {
        return g_.buffers.moves[static_cast<std::size_t>(k)].rows(0, 2 * panel(k).width, 1);
    }
    Region<Index> result(int k) const {
        return g_.buffers.results[static_cast<std::size_t>(k)].rows(0, panel(k).width + 1, 1);
    }
    Region<T> magnitudes(Index tile_column) const {
        return g_.buffers.magnitudes[static_cast<std::size_t>(tile_column)].rows(0, tile_width(), 1);
    }
    Region<Index> gate(int k) const { return g_.buffers.gates[static_cast<std::size_t>(k)].region(); }
    Place owner(int k) const { return Place::gpu(geometry_.owner(k)); }
    Region<T> matrix(Index tile_column, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
        return s_.a->template region<T>(tile_column, row_begin, row_end, col_begin, col_end);
    }
    const PanelBlock& block_of(int k) const { return blocks_[number_of_block(k)]; }
    std::size_t number_of_block(int k) const;
    /// The panels of panel k's block up to k, next to each other, from the block's first row on.
    Region<T> block_rows(int k) const;

    LuState<T>& s_;
    GpuLuState<T>& g_;
    Runtime& rt_;
    const LuChoices choices_;
    const PanelGeometry& geometry_;
    PanelRing<T> ring_;
    ColumnGroup group_{};
    Index scaled_ = 0;                ///< the first tile column whose scaling was not undone
    int steps_before_ = 0;            ///< of former groups
    std::vector<Index> tops_;         ///< by panel: the first row that left the matrix
    std::vector<PanelBlock> blocks_;  ///< none with one level of blocking
};

}  // namespace basalt::detail
