#include "tasks/gpu_cholesky_memory.hpp"

#include <algorithm>

#include "kernels/cuda/cholesky.hpp"
#include "kernels/split_product.hpp"
#include "runtime/engine.hpp"
#include "tasks/scratch_matrix.hpp"
#include "tiles/triangle_transfer.hpp"

namespace basalt::detail {

namespace {

/// Numbers of the workspace of a panel. On an emulated GPU it is the CPU's, which has its own.
template <class T>
Index workspace_numbers(bool emulated, Index rows, Index nb) {
    if (emulated) return line;
    return aligned(
        static_cast<Index>((cuda_kernels::cholesky_workspace<T>(rows, nb) + sizeof(Index) - 1) / sizeof(Index)));
}

}  // namespace

template <class T>
GpuCholeskyMemory<T>::GpuCholeskyMemory(const CholeskyState<T>& cholesky, const MatrixStorage& storage,
                                        Triangle triangle, const CholeskyChoices& choices)
    : runtime_(cholesky.runtime),
      storage_(storage),
      tuning_(cholesky.runtime.tuning().gpu),
      fused_(choices.mode == FactorMode::gpu && cholesky.panels.size() == 1 &&
             cholesky.grid().rows() <= tuning_.cholesky.fused_order),
      nb_(std::min(choices.widths.width, cholesky.grid().shape().width)) {
    const TileGrid& grid = cholesky.grid();
    const bool emulated = runtime_.engine().device(0).emulated();
    panel_numbers_ = workspace_numbers<T>(emulated, grid.rows(), nb_);
    if (choices.mode == FactorMode::gpu && runtime_.gpus() == 1 && triangle == Triangle::lower) {
        const Index last_columns = std::min(tuning_.cholesky.fused_order, grid.shape().width);
        panel_numbers_ = std::max(panel_numbers_, workspace_numbers<T>(emulated, last_columns, last_columns));
    }
    for (const Panel& p : cholesky.panels) {
        if (!choices.on_gpu(p, grid.rows())) triangle_ = std::max(triangle_, strips(p.width).elements());
    }
    if (triangle == Triangle::upper && cholesky.runtime.gpus() > 1) {
        collected_ = ceil_div(grid.tile_cols(), cholesky.runtime.gpus()) * grid.shape().width;
    }
    if (triangle == Triangle::upper && choices.left_looking > 0) left_ = aligned(grid.rows() * nb_);
    const bool by_pieces = sizeof(T) == sizeof(float) && choices.split_products && choices.left_looking <= 0 &&
                           grid.rows() >= tuning_.cholesky.least_split_order;
    if (by_pieces && !emulated) {
        piece_numbers_ =
            aligned(static_cast<Index>(split_workspace(grid.rows(), nb_, grid.shape().width) / sizeof(Index)) + 1);
    }
}

template <class T>
TriangleStrips GpuCholeskyMemory<T>::strips(Index width) const {
    return strips_of_least_time(tuning_, width, sizeof(T));
}

template <class T>
Index GpuCholeskyMemory<T>::band() const {
    return fused_ ? 0 : aligned(storage_.grid().shape().width * nb_);
}

template <class T>
std::size_t GpuCholeskyMemory<T>::workspace(Index columns) const {
    const TileGrid& grid = storage_.grid();
    const Index elements = panel_slots() * (aligned(grid.rows() * nb_) + aligned(triangle_)) + columns * band() +
                           runtime_.gpus() * aligned(collected_ * nb_) + 2 * left_;
    const Index numbers = panel_numbers_ + piece_numbers_ + aligned(ceil_div(grid.cols(), nb_) * grid.shape().width);
    return static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(numbers) * sizeof(Index);
}

template <class T>
FittingColumns GpuCholeskyMemory<T>::fitting_columns() const {
    return detail::fitting_columns(
        runtime_, storage_.grid(), sizeof(T), [this](Index columns) { return workspace(columns); }, storage_.adopted());
}

template class GpuCholeskyMemory<float>;
template class GpuCholeskyMemory<double>;

}  // namespace basalt::detail
