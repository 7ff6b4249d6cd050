#include "tasks/cholesky/state.hpp"

namespace basalt::detail {

template <class T>
CholeskyState<T>::CholeskyState(Runtime& runtime, std::shared_ptr<MatrixStorage> storage, Triangle triangle,
                                PanelWidths widths)
    : runtime(runtime),
      triangle(triangle),
      panels(cut_panels(storage->grid(), widths)),
      a(std::move(storage)),
      info(Array<Index>::wrap(runtime, &info_value, 1, "info")) {}

template struct CholeskyState<float>;
template struct CholeskyState<double>;

}  // namespace basalt::detail
