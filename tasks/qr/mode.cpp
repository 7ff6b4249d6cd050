// The mode of QR where the library chooses it, and the names that its runs are learnt by.
#include "basalt/qr.hpp"
#include "tasks/choices/mode_choice.hpp"

namespace basalt {

RunCase qr_run_case(const Runtime& runtime, const QrOptions& options, FactorMode mode, const FactorProblem& problem) {
    const Tuning& tuning = runtime.tuning();
    const bool on_cores = mode == FactorMode::cpu;
    const QrMethod method =
        on_cores ? chosen_qr_method(tuning, options, mode, problem.m, problem.n) : QrMethod::blocked;
    const bool by_tiles = method == QrMethod::tile;
    const TileShape usual = default_qr_tile(tuning, problem.m, problem.n, on_cores ? 0 : runtime.gpus(), method);
    const TileShape tile = problem.tile == TileShape{} ? usual : problem.tile;
    QrOptions in_mode = options;
    in_mode.mode = mode;
    const Index usual_nb =
        by_tiles ? tile.width : default_qr_panel(tuning, in_mode, problem.m, problem.n, runtime.gpus());
    detail::Differences differences;
    differences.note_if(by_tiles, "by tiles");
    differences.note_if(tile != usual, "tile={}x{}", tile.height, tile.width);
    differences.note_other(options.panel_width, usual_nb, "nb={}");
    if (by_tiles) differences.note_given(options.inner_width, "inner={}");
    if (mode != FactorMode::gpu) differences.note_given(options.panel_threads, "panel-threads={}");
    differences.note_other(options.lookahead, 1, "lookahead={}");
    if (mode == FactorMode::hybrid) differences.note_given(options.gpu_panels_below, "gpu-panels-below={}");
    differences.note_if(mode == FactorMode::gpu && !options.narrow_at_end, "not narrow at the end");
    differences.note_if(!on_cores && problem.precision == 's' && !options.split_products, "plain-products");
    differences.note_if(on_cores && options.tree != QrTree::automatic, "{}",
                        options.tree == QrTree::always ? "tree" : "no tree");
    return {problem.routine.empty() ? "geqrf" : problem.routine,
            problem.precision,
            problem.m,
            problem.n,
            problem.on_gpus,
            differences.text()};
}

ModeChoice choose_qr_mode(const Runtime& runtime, const QrOptions& options, const FactorProblem& problem) {
    const auto modes = [&](int gpus) {
        std::vector<FactorMode> all{FactorMode::cpu};
        const bool cores_alone = options.method == QrMethod::tile || options.tree == QrTree::always;
        if (gpus == 0 || options.lookahead.value_or(1) > 1 || cores_alone) return all;
        all.push_back(FactorMode::hybrid);
        all.push_back(FactorMode::gpu);
        return all;
    };
    return detail::choose_mode(
        runtime, options.mode,
        {[&](int gpus) { return chosen_qr_mode(runtime.tuning(), options, problem.m, problem.n, gpus); }, modes,
         [&](FactorMode mode) { return qr_run_case(runtime, options, mode, problem); }, problem.without_cpu});
}

}  // namespace basalt
