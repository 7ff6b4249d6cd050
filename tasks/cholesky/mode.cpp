// The mode of Cholesky where the library chooses it, and the names that its runs are learnt by.
#include "basalt/cholesky.hpp"
#include "tasks/choices/mode_choice.hpp"

namespace basalt {

RunCase cholesky_run_case(const Runtime& runtime, const CholeskyOptions& options, FactorMode mode,
                          const FactorProblem& problem) {
    const Tuning& tuning = runtime.tuning();
    const bool on_gpus = mode != FactorMode::cpu;
    const TileShape usual = default_cholesky_tile(tuning, problem.n, on_gpus ? runtime.gpus() : 0);
    const TileShape tile = problem.tile == TileShape{} ? usual : problem.tile;
    CholeskyOptions in_mode = options;
    in_mode.mode = mode;
    in_mode.panel_width.reset();
    const Index usual_nb = default_cholesky_panel(tuning, in_mode, problem.n, tile.width, runtime.gpus());
    detail::Differences differences;
    differences.note_if(tile != usual, "tile={}x{}", tile.height, tile.width);
    differences.note_other(options.panel_width, usual_nb, "nb={}");
    differences.note_other(options.lookahead, 1, "lookahead={}");
    if (mode == FactorMode::hybrid) differences.note_given(options.gpu_panels_below, "gpu-panels-below={}");
    differences.note_if(mode == FactorMode::hybrid && options.rows_on_cores, "rows-on-cores");
    differences.note_if(on_gpus && !options.narrow_at_end, "not narrow at the end");
    if (on_gpus && problem.precision == 's') differences.note_products(options.products);
    differences.note_if(mode == FactorMode::gpu && options.left_looking, "{}-looking",
                        options.left_looking.value_or(false) ? "left" : "right");
    return {problem.routine.empty() ? "potrf" : problem.routine,
            problem.precision,
            problem.n,
            problem.n,
            problem.on_gpus,
            differences.text()};
}

ModeChoice choose_cholesky_mode(const Runtime& runtime, const CholeskyOptions& options, const FactorProblem& problem) {
    const auto modes = [&](int gpus) {
        std::vector<FactorMode> all;
        if (is_single(options.products)) all.push_back(FactorMode::cpu);
        if (options.left_looking.value_or(false)) return std::vector<FactorMode>{FactorMode::gpu};
        if (gpus > 0 && options.lookahead.value_or(1) <= 1)
            all.insert(all.end(), {FactorMode::hybrid, FactorMode::gpu});
        return all;
    };
    return detail::choose_mode(
        runtime, options.mode,
        {[&](int gpus) { return chosen_cholesky_mode(runtime.tuning(), options, problem.n, gpus); }, modes,
         [&](FactorMode mode) { return cholesky_run_case(runtime, options, mode, problem); }, problem.without_cpu});
}

}  // namespace basalt
