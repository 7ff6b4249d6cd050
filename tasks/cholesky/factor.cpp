// Cholesky: the public factorization and its results.
#include "basalt/cholesky.hpp"

#include <memory>
#include <string>
#include <utility>

#include "tasks/choices/mode_choice.hpp"
#include "tasks/cholesky/on_cores.hpp"
#include "tasks/cholesky/on_gpus.hpp"
#include "tasks/cholesky/options.hpp"
#include "tasks/cholesky/state.hpp"

namespace basalt {

using detail::CholeskyState;

template <class T>
CholeskyFactors<T> cholesky_factor(Runtime& runtime, Matrix<T>& a, Triangle triangle, const CholeskyOptions& options) {
    if (&a.runtime() != &runtime) throw UsageError("cholesky_factor: the matrix belongs to another runtime");
    if (a.rows() != a.cols()) {
        throw UsageError("cholesky_factor: the matrix is " + std::to_string(a.rows()) + " x " +
                         std::to_string(a.cols()) + "; allowed are square ones");
    }
    CholeskyOptions decided = options;
    decided.mode = choose_cholesky_mode(runtime, options, detail::problem_of(runtime, a, options.mode)).mode;
    const detail::CholeskyChoices choices(runtime.tuning(), decided, a.rows(), a.tile_shape().width, runtime.gpus());
    auto state = std::make_shared<CholeskyState<T>>(runtime, a.share_storage(), triangle, choices.widths);
    if (choices.mode == FactorMode::cpu) {
        submit_cholesky_on_cores(*state, choices);
    } else {
        submit_cholesky_on_gpus(*state, choices);
    }
    return CholeskyFactors<T>(std::move(state));
}

template <class T>
CholeskyState<T>& CholeskyFactors<T>::state() const {
    if (!state_) throw UsageError("CholeskyFactors: no factorization stands behind this handle");
    return *state_;
}

template <class T>
Index CholeskyFactors<T>::rows() const {
    return state().order();
}

template <class T>
Triangle CholeskyFactors<T>::triangle() const {
    return state().triangle;
}

template <class T>
Index CholeskyFactors<T>::info() const {
    return state().info.host_view()[0];
}

template <class T>
PanelPlaces CholeskyFactors<T>::panel_places() const {
    const auto& s = state();
    return {std::ssize(s.panels) - s.panels_on_gpus, s.panels_on_gpus};
}

template class CholeskyFactors<float>;
template class CholeskyFactors<double>;
template CholeskyFactors<float> cholesky_factor(Runtime&, Matrix<float>&, Triangle, const CholeskyOptions&);
template CholeskyFactors<double> cholesky_factor(Runtime&, Matrix<double>&, Triangle, const CholeskyOptions&);

}  // namespace basalt
