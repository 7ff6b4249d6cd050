// QR: the public factorization and its results.
#include "basalt/qr.hpp"

#include "tasks/choices/mode_choice.hpp"
#include "tasks/qr/by_tiles.hpp"
#include "tasks/qr/on_cores.hpp"
#include "tasks/qr/on_gpus.hpp"
#include "tasks/qr/options.hpp"
#include "tasks/qr/state.hpp"

namespace basalt {

using detail::QrState;

template <class T>
QrFactors<T> qr_factor(Runtime& runtime, Matrix<T>& a, const QrOptions& options) {
    if (&a.runtime() != &runtime) throw UsageError("qr_factor: the matrix belongs to another runtime");
    QrOptions decided = options;
    decided.mode = choose_qr_mode(runtime, options, detail::problem_of(runtime, a, options.mode)).mode;
    const detail::QrChoices choices(runtime.tuning(), decided, a.rows(), a.cols(), runtime.workers(), runtime.gpus());
    auto state = std::make_shared<QrState<T>>(runtime, a.share_storage(), choices);
    if (choices.method == QrMethod::tile) {
        submit_qr_by_tiles(*state, choices);
    } else if (choices.mode == QrMode::cpu) {
        submit_qr_on_cores(*state, choices);
    } else {
        submit_qr_on_gpus(*state, choices);
    }
    return QrFactors<T>(std::move(state));
}

template <class T>
QrState<T>& QrFactors<T>::state() const {
    if (!state_) throw UsageError("QrFactors: no factorization stands behind this handle");
    return *state_;
}

template <class T>
Index QrFactors<T>::rows() const {
    return state().grid().rows();
}
template <class T>
Index QrFactors<T>::cols() const {
    return state().grid().cols();
}

template <class T>
QrMethod QrFactors<T>::method() const {
    return state().by_tiles ? QrMethod::tile : QrMethod::blocked;
}

template <class T>
std::vector<T> QrFactors<T>::tau() const {
    const QrState<T>& s = state();
    if (s.by_tiles)
        throw UsageError("QrFactors::tau: factors of QrMethod::tile have none; QrMethod::blocked gives LAPACK's form");
    std::vector<T> result;
    for (std::size_t k = 0; k < s.panels.size(); ++k) {
        s.t[k].wait();
        for (Index i = 0; i < s.panels[k].width; ++i) result.push_back(s.t[k].data()[i * s.t[k].ld() + i]);
    }
    return result;
}

template <class T>
Index QrFactors<T>::info() const {
    const QrState<T>& s = state();
    const Index width = s.grid().shape().width;
    for (const detail::Panel& p : s.panels) {
        s.a->wait(p.tile_column);
        const T* const r = static_cast<const T*>(s.a->column(p.tile_column)) + p.first * width + p.col_begin;
        for (Index i = 0; i < p.width; ++i) {
            if (r[i * width + i] == T{0}) return p.first + i + 1;
        }
    }
    return 0;
}

template <class T>
PanelPlaces QrFactors<T>::panel_places() const {
    const auto& s = state();
    return {std::ssize(s.panels) - s.panels_on_gpus, s.panels_on_gpus};
}

template class QrFactors<float>;
template class QrFactors<double>;
template QrFactors<float> qr_factor(Runtime&, Matrix<float>&, const QrOptions&);
template QrFactors<double> qr_factor(Runtime&, Matrix<double>&, const QrOptions&);

}  // namespace basalt
