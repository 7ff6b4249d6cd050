#include "apps/factor_plan.hpp"

#include <algorithm>

#include "apps/gpu_options.hpp"
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
        while (tile.width >= 2 * smallest && too_wide(tile))
            tile = {std::max(tile.height / 2, smallest), tile.width / 2};
    }
    return tile;
}

double gpu_memory(const Runtime& runtime) {
    double memory = 0;
    for (const DeviceInfo& gpu : runtime.devices()) memory += static_cast<double>(gpu.memory);
    return memory;
}

}  // namespace

FactorPlan factor_plan(const Settings& settings, const Runtime& runtime, FactorMode mode, Index m,
                       std::size_t element_size, TileShape usual) {
    FactorPlan plan;
    plan.mode = mode;
    plan.tile = settings.tile();
    if (plan.tile == TileShape{}) plan.tile = plan.on_gpus() ? fitting_tile(usual, runtime, m, element_size) : usual;
    if (data_on_gpus(settings)) plan.data = Place::any();
    return plan;
}

void plan_moves_by_size(FactorPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    if (!plan.on_gpus()) return;
    plan.fits_gpus = matrix_bytes(m, n, plan.tile, element_size) < gpu_memory(runtime);
    plan.moves = plan.data.is_cpu() || !plan.fits_gpus;
}

}  // namespace basalt
