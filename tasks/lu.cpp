// LU with partial pivoting: the serial loop nest that submits it.
#include "basalt/lu.hpp"

#include <algorithm>
#include <string>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "runtime/engine.hpp"
#include "tasks/lu_interchanges.hpp"
#include "tasks/lu_on_gpus.hpp"
#include "tasks/lu_options.hpp"
#include "tasks/lu_state.hpp"
#include "tasks/mode_choice.hpp"

namespace basalt {

namespace {

using detail::LuState;
using detail::Panel;

/// Priorities: panels first, then the columns that the next panels need, then the rest, older steps first.
class LuPriorities {
  public:
    LuPriorities(std::size_t steps, int lookahead) : steps_(static_cast<int>(steps)), lookahead_(lookahead) {}
    int panel(int k) const { return 4 * steps_ - k; }
    int update(int k, Index columns_ahead) const { return (columns_ahead <= lookahead_ ? 2 * steps_ : steps_) - k; }

  private:
    int steps_;
    int lookahead_;
};

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

/// One factorization's submission. The members are the tasks, in the order of the loop nest.
template <class T>
class LuSubmission {
  public:
    LuSubmission(LuState<T>& state, const detail::LuChoices& choices)
        : s_(state), rt_(state.runtime), choices_(choices), priority_(state.panels.size(), choices.lookahead) {}

    void submit() {
        for (int k = 0; k < static_cast<int>(s_.panels.size()); ++k) {
            const Panel& panel = s_.panels[static_cast<std::size_t>(k)];
            factor(k, panel);  // A(k:, k) = P L U
            for_each_trailing(s_.grid(), panel, [&](const TrailingColumns& columns) {
                swap_and_solve(k, panel, columns);  // A(k, j) = L(k, k)^-1 P A(k, j)
                for_each_row_block(panel.end(), [&](Index begin, Index end) {
                    update(k, panel, columns, begin, end);  // A(i, j) -= L(i, k) U(k, j)
                });
            });
        }
        if (choices_.left_interchanges) {
            for (int k = 0; k + 1 < static_cast<int>(s_.panels.size()); ++k) submit_interchange_left(s_, k);
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

    void factor(int k, const Panel& panel) {
        const Index m = s_.grid().rows();
        const int threads = choices_.panel_threads_for(m - panel.first);
        rt_.submit({.name = "panel", .priority = priority_.panel(k), .threads = {threads, threads}, .tile = {k, k, -1}},
                   readwrite(s_.region(panel, panel.first, m)), write(s_.pivots_of(panel)),
                   [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
                       Team team = member;
                       const Index info = panel_factor(team, a, pivots.data(), s->workspace);
                       if (team.rank() == 0) s->panel_info[static_cast<std::size_t>(k)] = info;
                   });
    }

    void swap_and_solve(int k, const Panel& panel, const TrailingColumns& columns) {
        const Index m = s_.grid().rows();
        const auto target =
            s_.a->template region<T>(columns.tile_column, panel.first, m, columns.col_begin, columns.col_end);
        rt_.submit({.name = "swap+solve",
                    .priority = priority_.update(k, columns.tile_column - panel.tile_column),
                    .tile = {k, static_cast<int>(columns.tile_column), -1}},
                   read(s_.region(panel, panel.first, panel.end())), read(s_.pivots_of(panel)),
                   readwrite(s_.packed_region(columns.tile_column)), readwrite(target),
                   [](View<const T> l, View<const Index> pivots, View<T> packed, View<T> a) {
                       swap_rows(a, pivots.data(), pivots.rows());
                       solve_and_pack<T>(l, nullptr, a.block(0, 0, l.rows(), a.cols()), packed.data());
                   });
    }

    void update(int k, const Panel& panel, const TrailingColumns& columns, Index begin, Index end) {
        const auto target =
            s_.a->template region<T>(columns.tile_column, begin, end, columns.col_begin, columns.col_end);
        const int i = static_cast<int>(begin / s_.grid().shape().height);
        rt_.submit({.name = "update",
                    .priority = priority_.update(k, columns.tile_column - panel.tile_column),
                    .tile = {i, static_cast<int>(columns.tile_column), k}},
                   read(s_.region(panel, begin, end)), read(s_.packed_region(columns.tile_column)), readwrite(target),
                   [](View<const T> l, View<const T> packed, View<T> a) { gemm_minus(a, l, packed.data()); });
    }

    LuState<T>& s_;
    Runtime& rt_;
    const detail::LuChoices choices_;
    const LuPriorities priority_;
};

/// Throws UsageError for options that matrices of T have not.
template <class T>
void check_precision(const LuOptions& options) {
    constexpr bool is_single = std::is_same_v<T, float>;
    if (options.tf32 && !is_single) throw UsageError("LuOptions::tf32 for a matrix of double; allowed is float");
    if (options.panel_log && is_single) {
        throw UsageError("LuOptions::panel_log for a matrix of float, whose panels keep none; allowed is double");
    }
}

}  // namespace

template <class T>
LuFactors<T> lu_factor(Runtime& runtime, Matrix<T>& a, const LuOptions& options) {
    if (&a.runtime() != &runtime) throw UsageError("lu_factor: the matrix belongs to another runtime");
    check_precision<T>(options);
    LuOptions decided = options;
    decided.mode = choose_lu_mode(runtime, options, detail::problem_of(runtime, a, options.mode)).mode;
    const detail::LuChoices choices(runtime.tuning(), decided, a.rows(), a.cols(), runtime.workers(), runtime.gpus());
    auto state =
        std::make_shared<LuState<T>>(runtime, a.share_storage(), choices.mode, choices.widths, choices.panel_threads);
    state->left_interchanges = choices.left_interchanges;
    if (choices.mode != LuMode::cpu) {
        submit_lu_on_gpus(*state, choices);
    } else {
        LuSubmission<T>(*state, choices).submit();
    }
    return LuFactors<T>(std::move(state));
}

template <class T>
LuState<T>& LuFactors<T>::state() const {
    if (!state_) throw UsageError("LuFactors: no factorization stands behind this handle");
    return *state_;
}

template <class T>
Index LuFactors<T>::rows() const {
    return state().grid().rows();
}
template <class T>
Index LuFactors<T>::cols() const {
    return state().grid().cols();
}

template <class T>
Index LuFactors<T>::info() const {
    const LuState<T>& s = state();
    s.pivots.host_view();
    for (std::size_t k = 0; k < s.panels.size(); ++k) {
        if (s.panel_info[k] > 0) return s.panels[k].first + s.panel_info[k];
    }
    return 0;
}

template <class T>
std::vector<Index> LuFactors<T>::pivots() const {
    const View<Index> numbers = state().pivots.host_view();
    std::vector<Index> result;
    result.reserve(static_cast<std::size_t>(numbers.rows()));
    for (const Panel& panel : state().panels) {
        for (Index i = panel.first; i < panel.end(); ++i) result.push_back(panel.first + numbers[i] + 1);
    }
    return result;
}

template class LuFactors<float>;
template class LuFactors<double>;
template LuFactors<float> lu_factor(Runtime&, Matrix<float>&, const LuOptions&);
template LuFactors<double> lu_factor(Runtime&, Matrix<double>&, const LuOptions&);

}  // namespace basalt
