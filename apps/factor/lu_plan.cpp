#include "apps/factor/lu_plan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/matrix_memory.hpp"

namespace basalt {

namespace {

std::size_t least_gpu_memory(const Runtime& runtime) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const DeviceInfo& gpu : runtime.devices()) least = std::min(least, gpu.memory);
    return least;
}

std::string lacking_text(const LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    const std::size_t bytes = lu_gpu_bytes(runtime, plan.options, m, n, plan.tile, element_size);
    const std::size_t there = least_gpu_memory(runtime);
    return fmt::format(
        "to stay on {} GPU{} it needs {} bytes ({:.1f} GiB) of each, available are {} bytes ({:.1f} GiB)",
        runtime.gpus(), runtime.gpus() == 1 ? "" : "s", bytes, static_cast<double>(bytes) / 0x1p30, there,
        static_cast<double>(there) / 0x1p30);
}

}  // namespace

void plan_moves(LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    if (!plan.on_gpus()) return;
    plan.fits_gpus = lu_gpu_bytes(runtime, plan.options, m, n, plan.tile, element_size) <= least_gpu_memory(runtime);
    plan.moves = plan.data.is_cpu() || !plan.fits_gpus;
}

void require_room(const LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size,
                  double other_bytes, const std::string& what, const std::string& advice) {
    const double matrix = matrix_bytes(m, n, plan.tile, element_size);
    const double home = (plan.stays_on_gpus() ? 0 : matrix) + other_bytes;
    try {
        require_memory(home + emulated_bytes(plan, plan.panel_width, runtime, m, n, element_size), what);
    } catch (const MachineFailure& lacking) {
        if (!plan.on_gpus() || plan.fits_gpus) throw;
        throw MachineFailure(
            fmt::format("{}; {}{}", lacking.what(), lacking_text(plan, runtime, m, n, element_size), advice));
    }
}

LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size, std::optional<Index> panel_width, const char* routine) {
    require_panels_on_cores(settings);
    LuOptions options = gpu.lu_options(settings);
    if (panel_width) options.panel_width = *panel_width;
    const char precision = element_size == sizeof(float) ? 's' : 'd';
    const LuProblem problem{m, n, precision, data_on_gpus(settings), settings.tile(), routine, asks_for_gpus(settings)};
    const ModeChoice choice = choose_lu_mode(runtime, options, problem);
    options.mode = choice.mode;
    const bool on_gpus = options.mode != FactorMode::cpu;
    const bool resident = options.mode == FactorMode::gpu && data_on_gpus(settings);
    const TileShape usual = default_lu_tile(runtime.tuning(), m, n, on_gpus ? runtime.gpus() : 0, resident);
    LuPlan plan{factor_plan(settings, runtime, options.mode, m, n, element_size, usual), options};
    set_choice(plan, settings, choice, lu_run_case(runtime, options, options.mode, problem));
    plan.threads_share_panels = plan.mode != FactorMode::gpu;
    const Index panel =
        options.panel_width.value_or(default_lu_panel(runtime.tuning(), plan.mode, m, n, runtime.gpus()));
    plan.panel_width = std::min(panel, on_gpus ? std::min(plan.tile.width, widest_gpu_panel) : plan.tile.width);
    plan.options.panel_width = plan.panel_width;
    plan_moves(plan, runtime, m, n, element_size);
    return plan;
}

}  // namespace basalt
