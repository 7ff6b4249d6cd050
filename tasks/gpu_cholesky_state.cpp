#include "tasks/gpu_cholesky_state.hpp"

#include <algorithm>

#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

/// In the last of several tile columns, as many as have at most so many columns together. Of a single tile column none:
/// its panels are as wide as was asked for.
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
      gpus(runtime.gpus()),
      deal(a->deal()),
      memory(cholesky, *a, triangle, choices),
      nb(memory.panel_width()),
      fitting(memory.fitting_columns()),
      in_place(choices.mode == FactorMode::gpu && gpus == 1 && !upper && !out_of_core()),
      fused_from(memory.fused() ? 0
                 : in_place     ? first_of_last_columns(cholesky.panels, runtime.tuning().gpu.cholesky.fused_order)
                                : static_cast<int>(cholesky.panels.size())) {
    const bool cores_factor = memory.triangle_elements() > 0, cores_solve = cores_factor && choices.rows_on_cores;
    if (!in_place) register_panels(cores_solve || out_of_core() || !gpus_reach_each_other(runtime));
    if (cores_factor) register_triangles();
    if (cores_solve) register_solvers();
    register_on_devices();
    const Index steps = std::max<Index>(std::ssize(cholesky.panels), 1);
    const Index numbers = aligned(steps);
    info_memory_ = PooledBuffer(runtime.engine().pinned(), static_cast<std::size_t>(gpus * numbers) * sizeof(Index));
    auto* const first = static_cast<Index*>(info_memory_.data());
    for (int g = 0; g < gpus; ++g) info.emplace_back(runtime, first + g * numbers, steps, 1, "info of panels");
}

template <class T>
void GpuCholeskyState<T>::register_panels(bool come_home) {
    const Index n = a->grid().rows(), panel = aligned(n * nb);
    const Index collect = aligned(memory.collected_rows() * nb), left = memory.left_elements();
    const std::size_t bytes =
        static_cast<std::size_t>(memory.panel_slots() * panel + gpus * collect + 2 * left) * sizeof(T);
    if (come_home) {
        travelling_ = PooledBuffer(runtime.engine().pinned(), bytes);
    } else {
        panel_addresses_ = HostBuffer(bytes, HostBacking::untouched);
    }
    T* next = static_cast<T*>(come_home ? travelling_.data() : panel_addresses_.data());
    for (Index s = 0; s < memory.panel_slots(); ++s, next += panel) panels.emplace_back(runtime, next, n, nb, "panel");
    for (int g = 0; g < gpus && collect > 0; ++g, next += collect) {
        collected.emplace_back(runtime, next, memory.collected_rows(), nb, "rows of a panel");
    }
    for (int s = 0; s < 2 && left > 0; ++s, next += left) lefts.emplace_back(runtime, next, left, 1, "left of a panel");
}

template <class T>
void GpuCholeskyState<T>::register_triangles() {
    const Index elements = memory.triangle_elements(), triangle = aligned(elements);
    triangles_memory_ =
        PooledBuffer(runtime.engine().pinned(), static_cast<std::size_t>(memory.panel_slots() * triangle) * sizeof(T));
    T* next = static_cast<T*>(triangles_memory_.data());
    for (Index s = 0; s < memory.panel_slots(); ++s, next += triangle) {
        triangles.emplace_back(runtime, next, elements, 1, "triangle");
    }
}

template <class T>
void GpuCholeskyState<T>::register_solvers() {
    const Index solver = aligned((nb + 1) * nb);
    solvers_memory_ = HostBuffer(static_cast<std::size_t>(memory.panel_slots() * solver) * sizeof(T));
    T* next = static_cast<T*>(solvers_memory_.data());
    for (Index s = 0; s < memory.panel_slots(); ++s, next += solver) {
        solvers.emplace_back(runtime, next, nb + 1, nb, "prepared triangle");
    }
}

template <class T>
void GpuCholeskyState<T>::register_on_devices() {
    const TileGrid& grid = a->grid();
    const Index band = memory.band(), numbers = memory.panel_numbers(), piece = memory.piece_numbers();
    on_devices_ = HostBuffer(static_cast<std::size_t>(grid.tile_cols() * band) * sizeof(T) +
                                 static_cast<std::size_t>(gpus * (numbers + piece)) * sizeof(Index),
                             HostBacking::untouched);
    T* next = static_cast<T*>(on_devices_.data());
    for (Index j = 0; j < grid.tile_cols() && band > 0; ++j, next += band) {
        above.emplace_back(runtime, next, grid.shape().width, nb, "above the diagonal");
    }
    Index* number = reinterpret_cast<Index*>(next);
    for (int g = 0; g < gpus; ++g, number += numbers) {
        workspaces.emplace_back(runtime, number, numbers, 1, "panel workspace");
    }
    for (int g = 0; g < gpus && piece > 0; ++g, number += piece)
        pieces.emplace_back(runtime, number, piece, 1, "pieces");
}

template struct GpuCholeskyState<float>;
template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
