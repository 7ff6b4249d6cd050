#include "apps/factor/cholesky_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

CholeskyOptions cholesky_panel_options(const Settings& settings, const GpuOptions& gpu) {
    const LuOptions set = settings.lu_options();
    CholeskyOptions options;
    options.panel_width = set.panel_width;
    options.lookahead = set.lookahead;
    options.gpu_panels_below = gpu.panels_below;
    return options;
}

CholeskyPlan cholesky_plan(const Settings& settings, const GpuOptions& gpu, Triangle triangle, const Runtime& runtime,
                           Index n, std::size_t element_size) {
    CholeskyOptions options = cholesky_panel_options(settings, gpu);
    options.mode = settings.lu_options().mode;
    options.rows_on_cores = gpu.rows_on_cores;
    if (gpu.looking) options.left_looking = gpu.looking == Looking::left;
    if (runtime.gpus() == 0 && gpu.looking == Looking::left) {
        throw MachineFailure(lacking_gpu("--left-looking", settings));
    }
    const char precision = element_size == sizeof(float) ? 's' : 'd';
    const char* const routine = triangle == Triangle::upper ? "potrf upper" : "";
    const FactorProblem problem{
        n, n, precision, data_on_gpus(settings), settings.tile(), routine, asks_for_gpus(settings)};
    const ModeChoice choice = choose_cholesky_mode(runtime, options, problem);
    options.mode = choice.mode;
    if (options.mode != FactorMode::gpu && gpu.looking == Looking::right) {
        throw WrongUse(fmt::format("--right-looking where the mode is {}; allowed: --mode gpu", name_of(options.mode)));
    }
    const int gpus = options.mode == FactorMode::cpu ? 0 : runtime.gpus();
    const TileShape usual = default_cholesky_tile(runtime.tuning(), n, gpus);
    CholeskyPlan plan{factor_plan(settings, runtime, options.mode, n, n, element_size, usual), options};
    plan.deal = Deal::cyclic;
    plan.gpu_panel_slots = 3;
    set_choice(plan, settings, choice, cholesky_run_case(runtime, options, options.mode, problem));
    const Index panel =
        options.panel_width.value_or(default_cholesky_panel(runtime.tuning(), options, n, plan.tile.width, gpus));
    plan.options.panel_width = plan.panel_width = std::min(panel, plan.tile.width);
    plan_moves_by_size(plan, runtime, n, n, element_size);
    return plan;
}

}  // namespace basalt
