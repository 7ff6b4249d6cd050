#include "apps/qr_plan.hpp"

#include <algorithm>

namespace basalt {

QrPlan qr_plan(const Settings& settings, const Runtime& runtime, Index m, Index n, std::size_t element_size) {
    const LuOptions set = settings.lu_options();
    QrOptions options;
    options.mode = set.mode;
    options.panel_width = set.panel_width;
    options.panel_threads = set.panel_threads;
    options.lookahead = set.lookahead;
    options.mode = chosen_qr_mode(runtime.tuning(), options, m, n, runtime.gpus());
    const bool on_gpus = options.mode != FactorMode::cpu;
    const TileShape usual = default_qr_tile(runtime.tuning(), m, n, on_gpus ? runtime.gpus() : 0);
    QrPlan plan{factor_plan(settings, runtime, options.mode, m, element_size, usual), options};
    Index& panel = plan.options.panel_width;
    if (panel == 0) panel = default_qr_panel(runtime.tuning(), plan.mode, m, n);
    panel = std::min(panel, on_gpus ? std::min(plan.tile.width, widest_qr_gpu_panel) : plan.tile.width);
    plan_moves_by_size(plan, runtime, m, n, element_size);
    return plan;
}

}  // namespace basalt
