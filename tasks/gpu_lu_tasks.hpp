#pragma once

#include <vector>

#include "basalt/runtime.hpp"
#include "tasks/gpu_columns.hpp"
#include "tasks/gpu_lu_state.hpp"
#include "tasks/lu_options.hpp"
#include "tasks/lu_state.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// Column number `col` of a tile column.
struct ColumnPlace {
    Index tile_column;
    Index col;
};

/// The tasks of an LU factorization in the modes hybrid and gpu, each submitted by a call: the loop nest that makes the
/// calls is lu_on_gpus.cpp. Panels are numbered from 0; a panel's step has its number.
template <class T>
class GpuLuTasks {
  public:
    GpuLuTasks(LuState<T>& state, GpuLuState<T>& on_gpus, const LuChoices& choices);

    int steps() const { return static_cast<int>(s_.panels.size()); }
    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const { return detail::first_panel(s_.panels, tile_column); }
    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }
    /// Whether that GPU updates nothing meanwhile. The panel is then submitted in front of the update.
    bool goes_alone(int k) const;
    /// Where the columns right of panel k begin.
    ColumnPlace behind(int k) const;
    /// Where the columns begin that panel k does not update at once, but together with the other panels of its block:
    /// behind the next block. With one level of blocking, behind the group.
    ColumnPlace reach(int k) const;
    bool ends_block(int k) const { return !blocks_.empty() && block_of(k).last == k + 1; }

    // --- data on their way ---

    /// Tasks are about the columns of that group from now on.
    void enter_group(const ColumnGroup& group);
    /// Panel k and its row moves to all GPUs.
    void broadcast(int k);
    /// A panel of an earlier group, from where its factors lie now, to one GPU.
    void reload(int k);
    /// Column panel j leaves the matrix for its own buffer, from row `top` on.
    void take_out(int j, Index top, int priority);
    void send_to_cores(int j) const;
    /// The factors return to their place in the matrix.
    void put_back(int k);
    /// Of the next panel's copy to its buffer in step k.
    int patience_of_copy(int k) const { return patience(k, next_copy); }

    // --- on cores ---

    void factor(int k);
    /// Of panel k, L(k, k)^-1 and what the interchanges move.
    void prepare(int k);
    /// A(k:, j) = step k of column panel j, which the cores have: lookahead deeper than one.
    void update_on_cores(int k, int j);

    // --- on GPUs ---

    /// A(k:, k) = P L U on the GPU that has the columns, and what the interchanges move; pivots and INFO to the host,
    /// for which no GPU waits.
    void factor_on_gpu(int k);
    /// The step on the next panel alone, in its buffer, so that it can be factored first.
    void update_leading(int k, int next);
    /// The step on all columns of the group from `first` to `end`, a task for each GPU. `next`: the panel whose leading
    /// update precedes, or -1.
    void update_rest(int k, const ColumnPlace& first, const ColumnPlace& end, int next = -1);
    /// Panel k joins those of its block, whose rows move as its interchanges say.
    void gather(int k);
    /// The steps of the block that panel k ends, at once, on what they did not reach.
    void update_beyond(int k, int next);
    /// Panel k's interchanges in the columns left of it, behind the updates. `next`: see update_rest().
    void interchange_left(int k, int next);

    ColumnPlace end_of_group() const { return {group_.last, 0}; }

    /// Above 0: on streams of high priority.
    static constexpr int urgent = 1;

  private:
    /// Of what is not urgent, in a step: the factors' return, the update, the next panel's copy, a block's panels and
    /// their update, the interchanges on the left.
    enum Patience { put_back_first, update_second, next_copy, block_of_panels, interchanges_last, patiences };
    int patience(int k, Patience number) const { return -patiences * (steps_before_ + k) - number; }

    /// Panels [first, last), whose columns of L are `ld` apart, update together.
    struct Factors {
        int first;
        int last;
        Region<T> l;
        Index ld;
        Patience patience;
    };
    Factors of_panel(int k) const { return {k, k + 1, panel_rows(k), g_.nb, update_second}; }

    /// One GPU's part of a step.
    struct Part {
        int gpu;
        bool leading = false;
        int gate;  ///< which it opens, if leading, and otherwise waits for; or -1
        Index cols;
    };

    void update_columns(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end, int next);
    template <class F>
    void submit_update(const Factors& factors, const Part& part, const GpuColumns<T>& columns, const F& add_columns);
    int gate_on(int gpu, int next) const;
    bool by_pieces(Index rows, Index depth, Index cols) const;

    Index rows() const { return s_.grid().rows(); }
    Index tile_width() const { return s_.grid().shape().width; }
    std::size_t slot(int k) const { return static_cast<std::size_t>(slot_[static_cast<std::size_t>(k)]); }
    void take_slot(int k) { slot_[static_cast<std::size_t>(k)] = static_cast<int>(slots_taken_++ % g_.panel_slots); }
    Region<T> panel_rows(int k, Index begin, Index end) const {
        return g_.panels[slot(k)].rows(begin, end, panel(k).width);
    }
    Region<T> panel_rows(int k) const { return panel_rows(k, panel(k).first, rows()); }
    Region<T> inverse(int k) const {
        return g_.inverses[static_cast<std::size_t>(k)].rows(0, panel(k).width, inverted_block);
    }
    Region<Index> moves(int k) const { return g_.moves[static_cast<std::size_t>(k)].rows(0, 2 * panel(k).width, 1); }
    Region<Index> result(int k) const { return g_.results[static_cast<std::size_t>(k)].rows(0, panel(k).width + 1, 1); }
    Region<Index> gate(int k) const { return g_.gates[static_cast<std::size_t>(k)].region(); }
    Place device_of(Index tile_column) const { return Place::gpu(g_.device_of(tile_column)); }
    Region<T> matrix(Index tile_column, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
        return s_.a->template region<T>(tile_column, row_begin, row_end, col_begin, col_end);
    }
    const PanelBlock& block_of(int k) const { return blocks_[number_of_block(k)]; }
    std::size_t number_of_block(int k) const;
    /// The panels of panel k's block that there are, side by side in the rows from its first one's on.
    Region<T> block_rows(int k) const;

    LuState<T>& s_;
    GpuLuState<T>& g_;
    Runtime& rt_;
    const LuChoices choices_;
    ColumnGroup group_{};
    int steps_before_ = 0;     ///< of former groups
    std::vector<int> slot_;    ///< by panel: where it is while it is on its way
    std::vector<Index> tops_;  ///< by panel: first row that left the matrix
    Index slots_taken_ = 0;
    std::vector<PanelBlock> blocks_;  ///< none with one level of blocking
};

}  // namespace basalt::detail
