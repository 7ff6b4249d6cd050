// LU with partial pivoting on CPU cores: the loop nest.
#include "tasks/lu/on_cores.hpp"

#include <algorithm>

#include "kernels/cpu/panel/panel.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "tasks/choices/step_priorities.hpp"
#include "tasks/lu/interchanges.hpp"

namespace basalt::detail {

namespace {

/// Columns [col_begin, col_end) of a tile column that lie to the right of a panel.
struct TrailingColumns {
    Index tile_column;
    Index col_begin;
    Index col_end;
};

template <class F>
void for_each_trailing(const TileGrid& grid, const Panel& panel, const F& visit) {
    if (panel.col_end() < grid.tile_width(panel.tile_column)) {
        visit(TrailingColumns{panel.tile_column, panel.col_end(), grid.tile_width(panel.tile_column)});
    }
    for (Index j = panel.tile_column + 1; j < grid.tile_cols(); ++j) {
        visit(TrailingColumns{j, 0, grid.tile_width(j)});
    }
}

/// The work of a block of panels on columns to its right: the kernels of the tasks.
template <class T>
class BlockUpdate {
  public:
    BlockUpdate(const LuState<T>& state, const PanelBlock& block, const TrailingColumns& columns)
        : s_(&state), block_(block), columns_(columns) {}

    /// Applies all interchanges, then solves for the rows of U, panel by panel. Leaves U packed too.
    void swap_and_solve() const {
        const Index m = s_->grid().rows();
        for (int k = block_.first; k < block_.last; ++k) {
            const Panel& p = s_->panel(k);
            swap_rows(target(p.first, m), s_->pivot_numbers.data() + p.first, p.width);
        }
        for (int k = block_.first; k < block_.last; ++k) {
            const Panel& p = s_->panel(k);
            solve_and_pack<T>(factors(p, p.first, p.end()), nullptr, target(p.first, p.end()), packed(p));
            subtract(p, p.end(), last_row());
        }
    }

    /// Rows begin .. end - 1 below the block.
    void update(Index begin, Index end) const {
        for (int k = block_.first; k < block_.last; ++k) subtract(s_->panel(k), begin, end);
    }

  private:
    Index last_row() const { return s_->panel(block_.last - 1).end(); }
    View<T> target(Index begin, Index end) const {
        return s_->view(columns_.tile_column, begin, end, columns_.col_begin, columns_.col_end);
    }
    View<const T> factors(const Panel& p, Index begin, Index end) const {
        return s_->view(p.tile_column, begin, end, p.col_begin, p.col_end());
    }
    T* packed(const Panel& p) const {
        const Index above = p.first - s_->panel(block_.first).first;
        return s_->packed_block(columns_.tile_column) + packed_size<T>(above, columns_.col_end - columns_.col_begin);
    }
    void subtract(const Panel& p, Index begin, Index end) const {
        if (begin < end) gemm_minus<T>(target(begin, end), factors(p, begin, end), packed(p));
    }

    const LuState<T>* s_;
    PanelBlock block_;
    TrailingColumns columns_;
};

/// One factorization's submission. The members are the tasks, in the order of the loop nest.
///
/// Two levels of blocking: a panel updates the other columns of its block at once. The columns right of the block are
/// updated by all its panels together, so each element there is read and written once for all of them.
template <class T>
class LuSubmission {
  public:
    LuSubmission(LuState<T>& state, const LuChoices& choices)
        : s_(state), rt_(state.runtime), choices_(choices), priority_(state.panels.size(), choices.lookahead) {}

    void submit() {
        for (const PanelBlock& block : s_.blocks) {
            factor_block(block);
            for (int k = block.first; s_.factored && k < block.last; ++k) s_.factored(s_.panel(k));
            for_each_trailing(s_.grid(), s_.panel(block.last - 1), [&](const TrailingColumns& columns) {
                const Index ahead = columns.tile_column - s_.panel(block.last - 1).tile_column;
                step(block, columns, priority_.update(block.last - 1, ahead, block.panels()));
            });
        }
        if (!choices_.left_interchanges) return;
        for (const PanelBlock& block : s_.blocks) {
            if (block.last == std::ssize(s_.panels)) break;
            for (int k = block.first; k < block.last; ++k) submit_interchange_left(s_, k, block.last);
        }
    }

  private:
    template <class F>
    void for_each_row_block(Index first, const F& visit) {
        const Index height = s_.grid().shape().height;
        for (Index begin = first; begin < s_.grid().rows();) {
            const Index end = std::min((begin / height + 1) * height, s_.grid().rows());
            visit(begin, end);
            begin = end;
        }
    }

    void factor_block(const PanelBlock& block) {
        for (int k = block.first; k < block.last; ++k) {
            factor(k);  // A(k:, k) = P L U
            for (int left = block.first; left < k; ++left) interchange(left, k);
            for (int right = k + 1; right < block.last; ++right) {
                const Panel& p = s_.panel(right);
                step({k, k + 1}, {p.tile_column, p.col_begin, p.col_end()}, priority_.needed_next(k));
            }
        }
    }

    void factor(int k) {
        const Panel& panel = s_.panel(k);
        const Index m = s_.grid().rows();
        rt_.submit({.name = "panel",
                    .priority = priority_.panel(k),
                    .threads = choices_.panel_team_for(m - panel.first, panel.width),
                    .tile = {k, k}},
                   readwrite(s_.region(panel, panel.first, m)), write(s_.pivots_of(panel)),
                   [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
                       Team team = member;
                       const Index info = panel_factor(team, a, pivots.data(), s->workspace);
                       if (team.rank() == 0) s->panel_info[static_cast<std::size_t>(k)] = info;
                   });
    }

    /// P L for a panel on the left in the same block.
    void interchange(int left, int k) {
        const Panel& by = s_.panel(k);
        rt_.submit({.name = "interchange", .priority = priority_.needed_next(k), .tile = {left, k}},
                   read(s_.pivots_of(by)), readwrite(s_.region(s_.panel(left), by.first, s_.grid().rows())),
                   [](View<const Index> pivots, View<T> l) { swap_rows(l, pivots.data(), pivots.rows()); });
    }

    /// A(i, j) -= L(i, k) U(k, j) for the panels k of the block, with U(k, j) = L(k, k)^-1 P A(k, j).
    void step(const PanelBlock& block, const TrailingColumns& columns, int priority) {
        swap_and_solve(block, columns, priority);
        for_each_row_block(s_.panel(block.last - 1).end(),
                           [&](Index begin, Index end) { update(block, columns, begin, end, priority); });
    }

    void swap_and_solve(const PanelBlock& block, const TrailingColumns& columns, int priority) {
        const Panel &first = s_.panel(block.first), &last = s_.panel(block.last - 1);
        AccessList data;
        for (int k = block.first; k < block.last; ++k) {
            const Panel& p = s_.panel(k);
            data.read(s_.region(p, p.first, last.end())).read(s_.pivots_of(p));
        }
        data.readwrite(s_.packed_region(columns.tile_column)).readwrite(target(columns, first.first, s_.grid().rows()));
        rt_.submit({.name = "swap+solve",
                    .priority = priority,
                    .tile = {block.last - 1, static_cast<int>(columns.tile_column)}},
                   data, [work = BlockUpdate<T>(s_, block, columns)] { work.swap_and_solve(); });
    }

    void update(const PanelBlock& block, const TrailingColumns& columns, Index begin, Index end, int priority) {
        AccessList data;
        for (int k = block.first; k < block.last; ++k) data.read(s_.region(s_.panel(k), begin, end));
        data.read(s_.packed_region(columns.tile_column)).readwrite(target(columns, begin, end));
        const int i = static_cast<int>(begin / s_.grid().shape().height);
        rt_.submit({.name = "update",
                    .priority = priority,
                    .tile = {i, static_cast<int>(columns.tile_column), block.last - 1}},
                   data, [work = BlockUpdate<T>(s_, block, columns), begin, end] { work.update(begin, end); });
    }

    Region<T> target(const TrailingColumns& columns, Index begin, Index end) const {
        return s_.a->template region<T>(columns.tile_column, begin, end, columns.col_begin, columns.col_end);
    }

    LuState<T>& s_;
    Runtime& rt_;
    const LuChoices choices_;
    const StepPriorities priority_;
};

}  // namespace

template <class T>
void submit_lu_on_cores(LuState<T>& state, const LuChoices& choices) {
    LuSubmission<T>(state, choices).submit();
}

template void submit_lu_on_cores(LuState<float>&, const LuChoices&);
template void submit_lu_on_cores(LuState<double>&, const LuChoices&);

}  // namespace basalt::detail
