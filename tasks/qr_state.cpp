#include "tasks/qr_state.hpp"

#include <algorithm>

#include "runtime/engine.hpp"

namespace basalt::detail {

template <class T>
QrState<T>::QrState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, const QrChoices& choices)
    : runtime(runtime),
      panels(cut_panels(storage->grid(), {choices.panel_width})),
      nb(std::min({choices.panel_width, storage->grid().shape().width,
                   std::max<Index>(1, std::min(storage->grid().rows(), storage->grid().cols()))})),
      a(std::move(storage)) {
    if (choices.method == QrMethod::tile) return;
    const auto bytes = panels.size() * static_cast<std::size_t>(nb * nb) * sizeof(T);
    if (choices.mode == QrMode::cpu) {
        t_memory_ = HostBuffer(bytes);
    } else {
        pinned_t_ = PinnedBuffer(runtime.engine().pinned(), bytes);
    }
    T* next = static_cast<T*>(choices.mode == QrMode::cpu ? t_memory_.data() : pinned_t_.data());
    for (std::size_t k = 0; k < panels.size(); ++k, next += nb * nb) t.emplace_back(runtime, next, nb, nb, "T");
}

template struct QrState<float>;
template struct QrState<double>;

}  // namespace basalt::detail
