#include "apps/factor/qr_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/input/gpu_options.hpp"

namespace basalt {

namespace {

void require_fitting(const QrOptions& options) {
    if (options.method == QrMethod::tile && options.panel_threads) {
        throw WrongUse(fmt::format("--panel-threads {} with --method tile; allowed: --method blocked or auto",
                                   *options.panel_threads));
    }
    if (options.mode != FactorMode::gpu && options.mode != FactorMode::hybrid) return;
    const auto refuse = [&](const char* what, const char* allowed) {
        throw WrongUse(
            fmt::format("{} with --mode {}; allowed: {}, or --mode cpu", what, name_of(options.mode), allowed));
    };
    if (options.method == QrMethod::tile) refuse("--method tile", "blocked, auto");
    if (options.tree == QrTree::always) refuse("--tree always", "auto, never");
}

}  // namespace

QrPlan qr_plan(const Settings& settings, const Runtime& runtime, Index m, Index n, std::size_t element_size,
               const QrOptions& wanted) {
    require_panels_on_cores(settings);
    const LuOptions set = settings.lu_options();
    QrOptions options = wanted;
    options.mode = set.mode;
    options.panel_width = set.panel_width;
    options.panel_threads = set.panel_threads;
    options.lookahead = set.lookahead;
    require_fitting(options);
    const char precision = element_size == sizeof(float) ? 's' : 'd';
    const FactorProblem problem{m, n, precision, data_on_gpus(settings), settings.tile(), {}, asks_for_gpus(settings)};
    const ModeChoice choice = choose_qr_mode(runtime, options, problem);
    options = with_chosen_qr_method(runtime.tuning(), options, choice.mode, m, n);
    const bool on_gpus = options.mode != FactorMode::cpu;
    const bool by_tiles = options.method == QrMethod::tile;
    const TileShape usual = default_qr_tile(runtime.tuning(), m, n, on_gpus ? runtime.gpus() : 0, options.method);
    QrPlan plan{factor_plan(settings, runtime, options.mode, m, n, element_size, usual), options};
    set_choice(plan, settings, choice, qr_run_case(runtime, options, options.mode, problem));
    plan.threads_share_panels = plan.mode != FactorMode::gpu && !by_tiles;
    plan.gpu_panel_slots = 6;  // the triangles T and their products count as panels
    const Index usual_panel =
        by_tiles ? plan.tile.width : default_qr_panel(runtime.tuning(), options, m, n, runtime.gpus());
    plan.panel_width = std::min(options.panel_width.value_or(usual_panel),
                                on_gpus ? std::min(plan.tile.width, widest_qr_gpu_panel) : plan.tile.width);
    plan.options.panel_width = plan.panel_width;
    plan_moves_by_size(plan, runtime, m, n, element_size);
    return plan;
}

}  // namespace basalt
