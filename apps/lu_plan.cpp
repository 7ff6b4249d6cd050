#include "apps/lu_plan.hpp"

#include <algorithm>

#include "apps/matrix_memory.hpp"

namespace basalt {

namespace {

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
    const TileShape usual = default_lu_tile(m, n, runtime.workers(), on_gpus ? runtime.gpus() : 0);
    if (plan.tile == TileShape{}) plan.tile = usual;
    Index& panel = plan.options.panel_width;
    if (panel == 0) panel = on_gpus ? default_lu_panel(plan.mode, m, n, runtime.gpus()) : usual.width;
    panel = std::min(panel, plan.tile.width);
    if (data_on_gpus(settings)) plan.data = Place::any();
    plan.moves = on_gpus && (plan.data.is_cpu() || !fits_on_gpus(runtime, matrix_bytes(m, n, plan.tile, element_size)));
    return plan;
}

}  // namespace basalt
