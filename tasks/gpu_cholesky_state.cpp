#include "tasks/gpu_cholesky_state.hpp"

#include <algorithm>

#include "kernels/cuda/cholesky.hpp"
#include "kernels/split_product.hpp"
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

/// Whether products are made by pieces, and numbers of the workspace for the largest: a tile column's.
template <class T>
bool uses_pieces(Runtime& runtime, const CholeskyChoices& choices) {
    return sizeof(T) == sizeof(float) && choices.split_products && !runtime.devices().front().emulated;
}
Index piece_numbers(const TileGrid& grid, Index nb) {
    return aligned(static_cast<Index>(split_workspace(grid.rows(), nb, grid.shape().width) / sizeof(Index)) + 1);
}

/// Bytes of a GPU's memory beside its tile columns, of which it has `columns` at a time.
template <class T>
std::size_t workspace_bytes(Runtime& runtime, const TileGrid& grid, Index nb, Index slots, Index columns, bool pieces) {
    const Index elements = slots * aligned(grid.rows() * nb) + columns * aligned(grid.shape().width * nb);
    const Index numbers = workspace_numbers<T>(runtime, nb) + (pieces ? piece_numbers(grid, nb) : 0) +
                          aligned(ceil_div(grid.cols(), nb) * grid.shape().width);
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
                                        return workspace_bytes<T>(runtime, a->grid(), nb, panel_slots, columns,
                                                                  uses_pieces<T>(runtime, choices));
                                    },
                                    a->adopted())),
      in_place(choices.mode == FactorMode::gpu && gpus == 1 && !out_of_core()),
      by_pieces(uses_pieces<T>(runtime, choices)) {
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
    const Index piece = by_pieces ? piece_numbers(grid, nb) : 0;
    on_devices_ = HostBuffer(static_cast<std::size_t>(grid.tile_cols() * band) * sizeof(T) +
                                 static_cast<std::size_t>(gpus * (numbers + piece)) * sizeof(Index),
                             HostBacking::untouched);
    T* next = static_cast<T*>(on_devices_.data());
    for (Index j = 0; j < grid.tile_cols(); ++j, next += band) {
        above.emplace_back(runtime, next, grid.shape().width, nb, "above the diagonal");
    }
    Index* number = reinterpret_cast<Index*>(next);
    for (int g = 0; g < gpus; ++g, number += numbers) {
        workspaces.emplace_back(runtime, number, numbers, 1, "panel workspace");
    }
    for (int g = 0; g < gpus && by_pieces; ++g, number += piece) pieces.emplace_back(runtime, number, piece, 1, "pieces");
}

template struct GpuCholeskyState<float>;
template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
