#include "apps/factor_plan.hpp"

#include "apps/gpu_options.hpp"
#include "apps/matrix_memory.hpp"

namespace basalt {

namespace {

double gpu_memory(const Runtime& runtime) {
    double memory = 0;
    for (const DeviceInfo& gpu : runtime.devices()) memory += static_cast<double>(gpu.memory);
    return memory;
}

}  // namespace

FactorPlan factor_plan(const Settings& settings, const Runtime& runtime, FactorMode mode, Index m, Index n,
                       std::size_t element_size, TileShape usual) {
    FactorPlan plan;
    plan.mode = mode;
    plan.tile = settings.tile();
    if (plan.tile == TileShape{}) plan.tile = plan.on_gpus() ? fitting_tile(runtime, usual, m, n, element_size) : usual;
    if (data_on_gpus(settings)) plan.data = Place::any();
    return plan;
}

void plan_moves_by_size(FactorPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    if (!plan.on_gpus()) return;
    plan.fits_gpus = matrix_bytes(m, n, plan.tile, element_size) < gpu_memory(runtime);
    plan.moves = plan.data.is_cpu() || !plan.fits_gpus;
}

}  // namespace basalt
