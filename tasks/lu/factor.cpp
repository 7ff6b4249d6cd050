// LU with partial pivoting: the public factorization and its results.
#include "tasks/lu/factor.hpp"

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "tasks/choices/mode_choice.hpp"
#include "tasks/lu/on_cores.hpp"
#include "tasks/lu/on_gpus.hpp"
#include "tasks/lu/options.hpp"
#include "tasks/lu/state.hpp"

namespace basalt {

namespace {

using detail::LuState;
using detail::Panel;

/// Throws UsageError for options that matrices of T do not have.
template <class T>
void check_precision(const LuOptions& options) {
    constexpr bool of_floats = std::is_same_v<T, float>;
    if (!is_single_in_lu(options.products) && !of_floats)
        throw UsageError("LuOptions::products below single precision for a matrix of double; allowed is float");
    if (options.panel_log && of_floats) {
        throw UsageError("LuOptions::panel_log for a matrix of float, whose panels keep none; allowed is double");
    }
}

}  // namespace

template <class T>
LuFactors<T> lu_factor(Runtime& runtime, Matrix<T>& a, const LuOptions& options) {
    return detail::lu_factor_observed<T>(runtime, a, options, {});
}

template <class T>
LuFactors<T> detail::lu_factor_observed(Runtime& runtime, Matrix<T>& a, const LuOptions& options,
                                        const std::function<void(const Panel&)>& factored) {
    if (&a.runtime() != &runtime) throw UsageError("lu_factor: the matrix belongs to another runtime");
    check_precision<T>(options);
    LuOptions decided = options;
    decided.mode = choose_lu_mode(runtime, options, detail::problem_of(runtime, a, options.mode)).mode;
    const detail::LuChoices choices(runtime.tuning(), decided, a.rows(), a.cols(), runtime.workers(), runtime.gpus());
    auto state = std::make_shared<LuState<T>>(runtime, a.share_storage(), choices.mode, choices.widths, choices.depth,
                                              choices.panel_threads);
    state->left_interchanges = choices.left_interchanges;
    state->factored = factored;
    if (choices.mode == LuMode::cpu) {
        submit_lu_on_cores(*state, choices);
    } else {
        submit_lu_on_gpus(*state, choices);
    }
    return LuFactors<T>(std::move(state));
}

namespace {

/// 0, or k > 0 when U(k, k), counted from 1, is the first zero on the diagonal.
template <class T>
Index first_zero_on_diagonal(const LuState<T>& s) {
    const TileGrid& grid = s.grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        s.a->wait(j);
        const View<const T> square =
            s.view(j, grid.first_col(j), grid.first_col(j) + grid.tile_width(j), 0, grid.tile_width(j));
        for (Index i = 0; i < square.cols(); ++i) {
            if (square(i, i) == T{0}) return grid.first_col(j) + i + 1;
        }
    }
    return 0;
}

}  // namespace

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
    if (s.adopted) return first_zero_on_diagonal(s);
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

template <class T>
PanelPlaces LuFactors<T>::panel_places() const {
    const auto& s = state();
    return {std::ssize(s.panels) - s.panels_on_gpus, s.panels_on_gpus};
}

template class LuFactors<float>;
template class LuFactors<double>;
template LuFactors<float> lu_factor(Runtime&, Matrix<float>&, const LuOptions&);
template LuFactors<double> lu_factor(Runtime&, Matrix<double>&, const LuOptions&);
template LuFactors<float> detail::lu_factor_observed(Runtime&, Matrix<float>&, const LuOptions&,
                                                     const std::function<void(const Panel&)>&);

}  // namespace basalt
