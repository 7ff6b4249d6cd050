#include "apps/factor/factor_plan.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/matrix_memory.hpp"

namespace basalt {

namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

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

void set_choice(FactorPlan& plan, const Settings& settings, const ModeChoice& choice, RunCase run) {
    require_gpus_used(settings, choice.mode);
    plan.reason = choice.reason;
    plan.learnt = choice.learnt;
    plan.run = std::move(run);
}

void tell_unused_panel_threads(const FactorPlan& plan, const Settings& settings) {
    if (plan.threads_share_panels || !panel_threads_given(settings)) return;
    std::cerr << fmt::format("basalt: --panel-threads {} changes nothing: no threads share a panel in mode {}{}\n",
                             settings.text("BASALT_PANEL_THREADS"), plan.mode_name(),
                             plan.mode == FactorMode::gpu ? "" : " by this method");
}

double emulated_bytes(const FactorPlan& plan, Index panel_width, const Runtime& runtime, Index m, Index n,
                      std::size_t element_size) {
    const auto gpus = runtime.devices();
    if (!plan.on_gpus() || gpus.empty() || !gpus.front().emulated || m == 0 || n == 0) return 0;
    // for each GPU: chunks of its memory that are not full, and the buffers of the threads that emulate it
    constexpr double small_things = 8 << 20;
    const auto count = static_cast<Index>(gpus.size());
    const Index columns = (ceil_div(n, plan.tile.width) + count - 1) / count * plan.tile.width;
    const Index width = std::max<Index>(1, std::min({panel_width, plan.tile.width, m, n}));
    const auto element_bytes = static_cast<double>(element_size);
    const Index slots = std::min(plan.gpu_panel_slots, ceil_div(std::min(m, n), width));
    const double tiles = matrix_bytes(m, columns, plan.tile, element_size);
    const double panels = static_cast<double>(slots) * matrix_bytes(m, width, {plan.tile.height, 1}, element_size);
    const Index trailing = std::min(columns, n - width);  // columns of a step's products
    const double products = static_cast<double>(trailing) * static_cast<double>(2 * width) * element_bytes;
    const double each = tiles + panels + products + small_things;
    double bytes = 0;
    for (const DeviceInfo& gpu : gpus) bytes += std::min(each, static_cast<double>(gpu.memory));
    return bytes;
}

void plan_moves_by_size(FactorPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    if (!plan.on_gpus()) return;
    plan.fits_gpus = matrix_bytes(m, n, plan.tile, element_size) < gpu_memory(runtime);
    plan.moves = plan.data.is_cpu() || !plan.fits_gpus;
}

}  // namespace basalt
