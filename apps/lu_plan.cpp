#include "apps/lu_plan.hpp"

#include <algorithm>

#include "apps/matrix_memory.hpp"

namespace basalt {

namespace {

/// Tiles small enough for each GPU to hold some tile columns of m rows beside what the factorization needs.
TileShape fitting_tile(TileShape tile, const Runtime& runtime, Index m, std::size_t element_size) {
    constexpr double columns = 4;
    constexpr Index smallest = 64;
    for (const DeviceInfo& gpu : runtime.devices()) {
        const auto too_wide = [&](TileShape t) {
            return columns * matrix_bytes(m, t.width, t, element_size) > static_cast<double>(gpu.memory);
        };
        while (tile.width >= 2 * smallest && too_wide(tile)) tile = {std::max(tile.height / 2, smallest), tile.width / 2};
    }
    return tile;
}

bool fits_on_gpus(const Runtime& runtime, double bytes) {
    double memory = 0;
    for (const DeviceInfo& gpu : runtime.devices()) memory += static_cast<double>(gpu.memory);
    return bytes < memory;
}

}  // namespace

LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size) {
    LuPlan plan;
    plan.options = gpu.lu_options(settings);
    plan.mode = plan.options.mode = chosen_lu_mode(plan.options, m, n, runtime.gpus());
    const bool on_gpus = plan.mode != LuMode::cpu;
    plan.tile = settings.tile();
    TileShape usual = default_lu_tile(m, n, runtime.workers(), on_gpus ? runtime.gpus() : 0);
    if (on_gpus) usual = fitting_tile(usual, runtime, m, element_size);
    if (plan.tile == TileShape{}) plan.tile = usual;
    Index& panel = plan.options.panel_width;
    if (panel == 0) panel = on_gpus ? default_lu_panel(plan.mode, m, n, runtime.gpus()) : usual.width;
    panel = std::min(panel, on_gpus ? std::min(plan.tile.width, widest_gpu_panel) : plan.tile.width);
    if (data_on_gpus(settings)) plan.data = Place::any();
    plan.moves = on_gpus && (plan.data.is_cpu() || !fits_on_gpus(runtime, matrix_bytes(m, n, plan.tile, element_size)));
    return plan;
}

}  // namespace basalt
