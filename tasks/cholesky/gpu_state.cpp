#include "tasks/cholesky/gpu_state.hpp"

#include <algorithm>
#include <utility>

namespace basalt::detail {

namespace {

/// The first of the last panels that have at most `most` columns together and lie in the last of several tile columns.
/// A single tile column has none: its panels are as wide as was asked for.
int first_of_last_columns(const std::vector<Panel>& panels, Index most) {
    const auto is_taken = [&](const Panel& p) {
        return p.tile_column > 0 && p.tile_column == panels.back().tile_column && panels.back().end() - p.first <= most;
    };
    return static_cast<int>(std::ranges::find_if(panels, is_taken) - panels.begin());
}

}  // namespace

template <class T>
GpuCholeskyState<T>::GpuCholeskyState(CholeskyState<T>& cholesky, std::shared_ptr<MatrixStorage> storage,
                                      Triangle triangle, const CholeskyChoices& choices)
    : runtime(cholesky.runtime),
      a(std::move(storage)),
      upper(triangle == Triangle::upper),
      geometry(cholesky.panels, a->grid(), a->deal()),
      memory(cholesky, *a, triangle, choices),
      nb(memory.panel_width()),
      fitting(memory.fitting_columns()),
      in_place(memory.in_place(fitting.group)),
      fused_from(memory.fused() ? 0
                 : in_place     ? first_of_last_columns(cholesky.panels, runtime.tuning().gpu.cholesky.fused_order)
                                : geometry.steps()) {
    const bool come_home = memory.cores_solve() || out_of_core() || !gpus_reach_each_other(runtime);
    const Index share = ceil_div(std::min(fitting.group, a->grid().tile_cols()), geometry.gpus());
    memory_ = memory.layout(share, come_home ? ScratchHome::pinned : ScratchHome::addresses, buffers).make(runtime);
}

template struct GpuCholeskyState<float>;
template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
