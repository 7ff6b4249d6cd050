// The mode of LU where the library chooses it, and the names that its runs are learnt by.
#include "basalt/lu.hpp"
#include "tasks/choices/mode_choice.hpp"

namespace basalt {

namespace {

std::vector<FactorMode> modes_for(const LuOptions& options, int gpus) {
    std::vector<FactorMode> modes;
    const bool two_levels = options.coarse_width.value_or(0) > 0;
    const bool short_lookahead = options.lookahead.value_or(1) <= 1;
    if (is_single_in_lu(options.products) && !two_levels) modes.push_back(FactorMode::cpu);
    if (gpus == 0) return modes;
    if (two_levels) return {FactorMode::gpu};
    if (short_lookahead || options.gpu_panels_below.value_or(0) == 0) modes.push_back(FactorMode::hybrid);
    if (short_lookahead) modes.push_back(FactorMode::gpu);
    return modes;
}

}  // namespace

RunCase lu_run_case(const Runtime& runtime, const LuOptions& options, FactorMode mode, const LuProblem& problem) {
    const Tuning& tuning = runtime.tuning();
    const bool hybrid = mode == FactorMode::hybrid, on_gpus = mode != FactorMode::cpu;
    const bool resident = mode == FactorMode::gpu && problem.on_gpus;
    const TileShape usual = default_lu_tile(tuning, problem.m, problem.n, on_gpus ? runtime.gpus() : 0, resident);
    const TileShape tile = problem.tile == TileShape{} ? usual : problem.tile;
    const Index usual_nb = default_lu_panel(tuning, mode, problem.m, problem.n, runtime.gpus());
    detail::Differences differences;
    differences.note_if(tile != usual, "tile={}x{}", tile.height, tile.width);
    differences.note_other(options.panel_width, usual_nb, "nb={}");
    if (mode != FactorMode::gpu) differences.note_given(options.panel_threads, "panel-threads={}");
    differences.note_other(options.lookahead, 1, "lookahead={}");
    if (hybrid) differences.note_given(options.gpu_panels_below, "gpu-panels-below={}");
    differences.note_if(hybrid && !options.solve_by_inverse, "plain-solve");
    differences.note_if(on_gpus && !options.narrow_at_end, "not narrow at the end");
    differences.note_if(on_gpus && options.single_update_task, "single-update-task");
    differences.note_if(on_gpus && options.broadcast_from_host, "broadcast-from-host");
    if (mode == FactorMode::gpu) differences.note_given(options.coarse_width, "coarse={}");
    if (on_gpus && problem.precision == 's') differences.note_products(options.products);
    differences.note_if(on_gpus && options.panel_log, "panel-log");
    differences.note_if(!options.left_interchanges, "no left interchanges");
    return {problem.routine.empty() ? "getrf" : problem.routine,
            problem.precision,
            problem.m,
            problem.n,
            problem.on_gpus,
            differences.text()};
}

ModeChoice choose_lu_mode(const Runtime& runtime, const LuOptions& options, const LuProblem& problem) {
    return detail::choose_mode(
        runtime, options.mode,
        {[&](int gpus) { return chosen_lu_mode(runtime.tuning(), options, problem.m, problem.n, gpus); },
         [&](int gpus) { return modes_for(options, gpus); },
         [&](FactorMode mode) { return lu_run_case(runtime, options, mode, problem); }, problem.without_cpu});
}

}  // namespace basalt
