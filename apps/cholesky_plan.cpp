#include "apps/cholesky_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

CholeskyPlan cholesky_plan(const Settings& settings, const GpuOptions& gpu, Triangle triangle, const Runtime& runtime,
                           Index n, std::size_t element_size) {
    const LuOptions set = settings.lu_options();
    CholeskyOptions options;
    options.mode = set.mode;
    options.panel_width = set.panel_width;
    options.lookahead = set.lookahead;
    options.gpu_panels_below = gpu.panels_below;
    options.rows_on_cores = gpu.rows_on_cores;
    options.left_looking = gpu.left_looking;
    if (runtime.gpus() == 0 && gpu.left_looking > 0) {
        throw MachineFailure(lacking_gpu("--left-looking", settings));
    }
    const char precision = element_size == sizeof(float) ? 's' : 'd';
    const char* const routine = triangle == Triangle::upper ? "potrf upper" : "";
    const FactorProblem problem{n, n, precision, data_on_gpus(settings), settings.tile(), routine};
    const ModeChoice choice = choose_cholesky_mode(runtime, options, problem);
    options.mode = choice.mode;
    if (options.mode != FactorMode::gpu && gpu.left_looking == 0) {
        throw WrongUse(fmt::format("--right-looking where the mode is {}; allowed: --mode gpu", name_of(options.mode)));
    }
    const int gpus = options.mode == FactorMode::cpu ? 0 : runtime.gpus();
    const TileShape usual = default_cholesky_tile(runtime.tuning(), n, gpus);
    CholeskyPlan plan{factor_plan(settings, runtime, options.mode, n, n, element_size, usual), options};
    plan.deal = Deal::cyclic;
    plan.reason = choice.reason;
    plan.run = cholesky_run_case(runtime, options, options.mode, problem);
    Index& panel = plan.options.panel_width;
    if (panel == 0) panel = default_cholesky_panel(runtime.tuning(), options, n, plan.tile.width, gpus);
    panel = std::min(panel, plan.tile.width);
    plan_moves_by_size(plan, runtime, n, n, element_size);
    return plan;
}

}  // namespace basalt
