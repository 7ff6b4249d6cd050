#include "tasks/qr_state.hpp"

#include <algorithm>

#include "runtime/engine.hpp"

namespace basalt::detail {

template <class T>
QrState<T>::QrState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, const QrChoices& choices)
    : runtime(runtime),
      panels(cut_panels(storage->grid(), choices.widths)),
      nb(std::min({choices.widths.width, storage->grid().shape().width,
                   std::max<Index>(1, std::min(storage->grid().rows(), storage->grid().cols()))})),
      a(std::move(storage)) {
    if (choices.method == QrMethod::tile) return;
    std::size_t bytes = 0;
    for (const Panel& p : panels) bytes += static_cast<std::size_t>(aligned(p.width * p.width)) * sizeof(T);
    if (choices.mode == QrMode::cpu) {
        t_memory_ = HostBuffer(bytes);
    } else {
        pinned_t_ = PooledBuffer(runtime.engine().pinned(), bytes);
    }
    T* next = static_cast<T*>(choices.mode == QrMode::cpu ? t_memory_.data() : pinned_t_.data());
    for (const Panel& p : panels) {
        t.emplace_back(runtime, next, p.width, p.width, "T");
        next += aligned(p.width * p.width);
    }
}

template struct QrState<float>;
template struct QrState<double>;

}  // namespace basalt::detail
