#include "tasks/qr/state.hpp"

#include <algorithm>

namespace basalt::detail {

template <class T>
QrState<T>::QrState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, const QrChoices& choices)
    : runtime(runtime),
      panels(cut_panels(storage->grid(), choices.widths)),
      nb(std::min({choices.widths.width, storage->grid().shape().width,
                   std::max<Index>(1, std::min(storage->grid().rows(), storage->grid().cols()))})),
      a(std::move(storage)) {
    if (choices.method == QrMethod::tile) return;
    const ScratchHome home = choices.mode == QrMode::cpu ? ScratchHome::pageable : ScratchHome::pinned;
    ScratchLayout triangles;
    for (const Panel& p : panels) {
        triangles.add(t, {.name = "T", .rows = p.width, .cols = p.width, .count = 1, .on_a_gpu = 1, .home = home});
    }
    t_bytes_ = triangles.gpu_bytes();
    t_memory_ = triangles.make(runtime);
}

template struct QrState<float>;
template struct QrState<double>;

}  // namespace basalt::detail
