#include "tasks/cholesky/gpu_memory.hpp"

#include <algorithm>

#include "kernels/cuda/cholesky/plan.hpp"
#include "kernels/split_product.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/on_gpus/panel_ring.hpp"
#include "tiles/triangle_transfer.hpp"

namespace basalt::detail {

namespace {

/// Numbers (Index) of the workspace of a panel. On an emulated GPU panels are the CPU's, which have their own.
template <class T>
Index workspace_numbers(bool emulated, Index rows, Index nb) {
    if (emulated) return 1;
    return static_cast<Index>((cuda_kernels::cholesky_workspace<T>(rows, nb) + sizeof(Index) - 1) / sizeof(Index));
}

}  // namespace

template <class T>
GpuCholeskyMemory<T>::GpuCholeskyMemory(const CholeskyState<T>& cholesky, const MatrixStorage& storage,
                                        Triangle triangle, const CholeskyChoices& choices)
    : runtime_(cholesky.runtime),
      storage_(storage),
      tuning_(cholesky.runtime.tuning().gpu),
      steps_(std::max<Index>(std::ssize(cholesky.panels), 1)),
      fused_(choices.mode == FactorMode::gpu && cholesky.panels.size() == 1 &&
             cholesky.grid().rows() <= tuning_.cholesky.fused_order),
      may_be_in_place_(choices.mode == FactorMode::gpu && runtime_.gpus() == 1 && triangle == Triangle::lower),
      // a copy of the runtime's own has no other side, and one kernel overwrites nothing there
      keeps_other_side_(choices.keep_other_side && cholesky.a.get() == &storage && !fused_),
      rows_on_cores_(choices.rows_on_cores),
      nb_(std::min(choices.widths.width, cholesky.grid().shape().width)) {
    const TileGrid& grid = cholesky.grid();
    const bool emulated = gpus_of(runtime_).device(0).emulated();
    panel_numbers_ = workspace_numbers<T>(emulated, grid.rows(), nb_);
    if (may_be_in_place_) {
        const Index last_columns = std::min(tuning_.cholesky.fused_order, grid.shape().width);
        panel_numbers_ = std::max(panel_numbers_, workspace_numbers<T>(emulated, last_columns, last_columns));
    }
    for (const Panel& p : cholesky.panels) {
        if (!choices.on_gpu(p, grid.rows())) triangle_ = std::max(triangle_, strips(p.width).elements());
    }
    if (triangle == Triangle::upper && runtime_.gpus() > 1) {
        collected_ = ceil_div(grid.tile_cols(), runtime_.gpus()) * grid.shape().width;
    }
    const bool looks_left = choices.left_looking.value_or(false);
    if (triangle == Triangle::upper && looks_left) left_ = grid.rows() * nb_;
    const bool by_slices = sizeof(T) == sizeof(float) && has_slices(choices.products) && !looks_left &&
                           (!is_single(choices.products) || grid.rows() >= tuning_.cholesky.least_split_order);
    if (by_slices && emulated && !is_single(choices.products)) slice_numbers_ = 1;  // the twins round
    if (by_slices && !emulated) {
        slice_numbers_ = static_cast<Index>(split_workspace(grid.rows(), nb_, grid.shape().width) / sizeof(Index)) + 1;
    }
}

template <class T>
TriangleStrips GpuCholeskyMemory<T>::strips(Index width) const {
    return strips_of_least_time(tuning_, width, sizeof(T));
}

template <class T>
ScratchLayout GpuCholeskyMemory<T>::layout(Index columns, ScratchHome panels, GpuCholeskyBuffers<T>& buffers) const {
    const TileGrid& grid = storage_.grid();
    const Index gpus = runtime_.gpus(), n = grid.rows(), slots = panel_slots();
    const bool ring = !in_place(columns);
    ScratchLayout all;
    all.add(buffers.panels, PanelRing<T>::shape(ring ? slots : 0, n, nb_, panels));
    all.add(buffers.collected, {.name = "rows of a panel",
                                .rows = collected_,
                                .cols = nb_,
                                .count = collected_ > 0 ? gpus : 0,
                                .on_a_gpu = gpus,
                                .home = panels});
    constexpr Index lefts = 2;  // one is on its way while the other is multiplied by
    all.add(buffers.lefts, {.name = "left of a panel",
                            .rows = left_,
                            .count = ring && left_ > 0 ? lefts : 0,
                            .on_a_gpu = lefts,
                            .home = panels});
    all.add(buffers.triangles,
            {.name = "triangle", .rows = triangle_, .count = cores_factor() ? slots : 0, .on_a_gpu = slots});
    all.add(buffers.solvers, {.name = "prepared triangle",
                              .rows = nb_ + 1,
                              .cols = nb_,
                              .count = cores_solve() ? slots : 0,
                              .home = ScratchHome::pageable});
    all.add(buffers.info, {.name = "info of panels", .rows = steps_, .count = gpus, .on_a_gpu = 1});
    all.add(buffers.above, {.name = "above the diagonal",
                            .rows = grid.shape().width,
                            .cols = nb_,
                            .count = keeps_other_side_ ? grid.tile_cols() : 0,
                            .on_a_gpu = columns,
                            .home = ScratchHome::addresses});
    const auto on_each_gpu = [&](auto& to, const char* name, Index size) {
        all.add(to, {.name = name,
                     .rows = aligned(size),
                     .count = size > 0 ? gpus : 0,
                     .on_a_gpu = 1,
                     .home = ScratchHome::addresses});
    };
    on_each_gpu(buffers.workspaces, "panel workspace", panel_numbers_);
    on_each_gpu(buffers.slices, "slices", slice_numbers_);
    return all;
}

template <class T>
std::size_t GpuCholeskyMemory<T>::workspace(Index columns) const {
    GpuCholeskyBuffers<T> none;
    return layout(columns, ScratchHome::pinned, none).gpu_bytes();
}

template <class T>
FittingColumns GpuCholeskyMemory<T>::fitting_columns() const {
    return detail::fitting_columns(
        runtime_, storage_.grid(), sizeof(T), [this](Index columns) { return workspace(columns); }, storage_.adopted());
}

template class GpuCholeskyMemory<float>;
template class GpuCholeskyMemory<double>;

}  // namespace basalt::detail
