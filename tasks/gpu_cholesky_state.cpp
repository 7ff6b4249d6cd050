#include "tasks/gpu_cholesky_state.hpp"

#include <algorithm>

#include "kernels/cuda/cholesky.hpp"
#include "runtime/engine.hpp"
#include "tasks/column_groups.hpp"

namespace basalt::detail {

namespace {

/// Numbers of the workspace of a panel. On an emulated GPU it is the CPU's, which has its own.
template <class T>
Index workspace_numbers(Runtime& runtime, Index nb) {
    if (runtime.devices().front().emulated) return line;
    return aligned(static_cast<Index>((cuda_kernels::cholesky_workspace<T>(nb) + sizeof(Index) - 1) / sizeof(Index)));
}

/// Bytes of a GPU's memory beside its tile columns, of which it has `columns` at a time.
template <class T>
std::size_t workspace_bytes(Runtime& runtime, const TileGrid& grid, Index nb, Index slots, Index columns) {
    const Index elements = slots * aligned(grid.rows() * nb) + columns * aligned(grid.shape().width * nb);
    const Index numbers = workspace_numbers<T>(runtime, nb) + aligned(ceil_div(grid.cols(), nb) * grid.shape().width);
    return static_cast<std::size_t>(elements) * sizeof(T) + static_cast<std::size_t>(numbers) * sizeof(Index);
}

}  // namespace

template <class T>
GpuCholeskyState<T>::GpuCholeskyState(CholeskyState<T>& cholesky, std::shared_ptr<MatrixStorage> storage,
                                      const CholeskyChoices& choices)
    : runtime(cholesky.runtime),
      a(std::move(storage)),
      gpus(runtime.gpus()),
      nb(std::min(choices.widths.width, a->grid().shape().width)),
      panel_slots(3),
      group_columns(fitting_columns(runtime, a->grid(), sizeof(T),
                                    [&](Index columns) {
                                        return workspace_bytes<T>(runtime, a->grid(), nb, panel_slots, columns);
                                    })),
      in_place(choices.mode == FactorMode::gpu && gpus == 1 && !out_of_core()) {
    if (!in_place) {
        register_panels(choices.mode != FactorMode::gpu || out_of_core() || !gpus_reach_each_other(runtime));
    }
    register_on_devices();
    const Index steps = std::max<Index>(std::ssize(cholesky.panels), 1);
    for (int g = 0; g < gpus; ++g) info.emplace_back(runtime, steps, "info of panels");
}

template <class T>
void GpuCholeskyState<T>::register_panels(bool come_home) {
    const Index n = a->grid().rows(), panel = aligned(n * nb);
    const std::size_t bytes = static_cast<std::size_t>(panel_slots * panel) * sizeof(T);
    if (come_home) {
        travelling_ = PinnedBuffer(runtime.engine().pinned(), bytes);
    } else {
        panel_addresses_ = HostBuffer(bytes, HostBacking::untouched);
    }
    T* next = static_cast<T*>(come_home ? travelling_.data() : panel_addresses_.data());
    for (Index s = 0; s < panel_slots; ++s, next += panel) panels.emplace_back(runtime, next, n, nb, "panel");
}

template <class T>
void GpuCholeskyState<T>::register_on_devices() {
    const TileGrid& grid = a->grid();
    const Index band = aligned(grid.shape().width * nb), numbers = workspace_numbers<T>(runtime, nb);
    on_devices_ = HostBuffer(static_cast<std::size_t>(grid.tile_cols() * band) * sizeof(T) +
                                 static_cast<std::size_t>(gpus * numbers) * sizeof(Index),
                             HostBacking::untouched);
    T* next = static_cast<T*>(on_devices_.data());
    for (Index j = 0; j < grid.tile_cols(); ++j, next += band) {
        above.emplace_back(runtime, next, grid.shape().width, nb, "above the diagonal");
    }
    Index* number = reinterpret_cast<Index*>(next);
    for (int g = 0; g < gpus; ++g, number += numbers) {
        workspaces.emplace_back(runtime, number, numbers, 1, "panel workspace");
    }
}

template struct GpuCholeskyState<float>;
template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
