#include "tasks/lu/options.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "basalt/tuning.hpp"
#include "tasks/choices/option_range.hpp"
#include "tasks/choices/tuning_entry.hpp"
#include "tasks/choices/usual_tile.hpp"

namespace basalt {

namespace {

using detail::entry_for;

/// Rows left at which GPUs update as fast as cores factor and send a panel of nb columns.
Index rows_that_keep_cores_ahead(const Tuning& tuning, int gpus, Index nb) {
    const double update = 2 / tuning.gpu.lu.update_rate / gpus;
    return detail::rows_that_keep_cores_ahead(update, tuning.cpu.lu.panel_element_seconds * static_cast<double>(nb),
                                              tuning.cpu.lu.panel_column_seconds);
}

ProductPrecision usual_products(const Tuning& tuning, Index m, Index n) {
    const bool large = std::min(m, n) >= tuning.gpu.lu.least_fp16_order;
    return large ? ProductPrecision::split_fp16 : ProductPrecision::split_bf16;
}

}  // namespace

Index default_lu_panel(const Tuning& tuning, LuMode mode, Index m, Index n, int gpus) {
    const Index steps = std::min(m, n);
    if (mode == LuMode::cpu) return entry_for(tuning.cpu.lu.sizes, steps).panel;
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    if (mode == LuMode::gpu) return entry_for(lu.sizes, steps).gpu_panel;
    // with more work for each GPU the cores keep ahead with wider panels, and products are faster
    return (steps - 1) / gpus >= lu.wide_hybrid_above ? lu.wide_hybrid_panel : entry_for(lu.sizes, steps).hybrid_panel;
}

TileShape default_lu_tile(const Tuning& tuning, Index m, Index n, int gpus, bool resident) {
    return detail::usual_tile(tuning, m, n, gpus, resident);
}

LuMode chosen_lu_mode(const Tuning& tuning, const LuOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == LuMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == LuMode::hybrid || options.mode == LuMode::gpu)) {
        throw UsageError(std::string("LuOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    LuMode mode = options.mode;
    const int lookahead = options.lookahead.value_or(1);
    const bool in_single = is_single_in_lu(options.products);
    if (mode == LuMode::automatic) {
        const LuMode on_gpus = lookahead > 1 ? LuMode::hybrid : LuMode::gpu;
        mode = gpus > 0 && (!in_single || options.coarse_width.value_or(0) > 0 ||
                            std::min(m, n) >= tuning.gpu.lu.smallest_order)
                   ? on_gpus
                   : LuMode::cpu;
    }
    if (!in_single && mode == LuMode::cpu) {
        throw UsageError(
            "LuOptions::products in mode cpu: they are in single precision there; allowed is hybrid or gpu");
    }
    const std::string given = "LuOptions::lookahead = " + std::to_string(lookahead);
    if (mode == LuMode::gpu && lookahead > 1) throw UsageError(given + " in mode gpu; allowed is 0 or 1");
    if (mode == LuMode::hybrid && lookahead > 1 && options.gpu_panels_below.value_or(0) > 0) {
        throw UsageError(given + " with gpu_panels_below = " + std::to_string(*options.gpu_panels_below) +
                         "; allowed together is 0 or 1");
    }
    return mode;
}

namespace detail {

LuChoices::LuChoices(const Tuning& tuning, const LuOptions& options, Index m, Index n, int workers, int gpus)
    : depth(tuning.cpu.lu.depth),
      coarse_width(options.coarse_width),
      panel_threads_given(options.panel_threads.has_value()),
      lookahead(options.lookahead.value_or(1)),
      left_interchanges(options.left_interchanges),
      mode(chosen_lu_mode(tuning, options, m, n, gpus)),
      single_update_task(options.single_update_task),
      solve_by_inverse(options.solve_by_inverse),
      broadcast_from_host(options.broadcast_from_host),
      products(options.products.value_or(basalt::usual_products(tuning, m, n))),
      panel_log(options.panel_log) {
    require_at_least("LuOptions::panel_width", options.panel_width, 1);
    require_at_least("LuOptions::panel_threads", options.panel_threads, 1);
    require_at_least("LuOptions::lookahead", options.lookahead, 0);
    require_at_least("LuOptions::coarse_width", options.coarse_width, 0);
    require_at_least("LuOptions::gpu_panels_below", options.gpu_panels_below, 0);
    if (coarse_width.value_or(0) > 0 && (mode != LuMode::gpu || lookahead == 0 || single_update_task)) {
        throw UsageError("LuOptions::coarse_width = " + std::to_string(*coarse_width) +
                         "; allowed is 0 but in mode gpu with a lookahead of 1 and several update tasks a step");
    }
    widths.width = options.panel_width.value_or(default_lu_panel(tuning, mode, m, n, gpus));
    if (mode != LuMode::cpu && options.panel_width) widths.width = std::min(widths.width, widest_gpu_panel);
    panels_alone_below = detail::panels_alone_below(tuning.gpu.lu.deal, gpus);
    const std::optional<Index> given = lookahead > 1 ? 0 : options.gpu_panels_below;
    gpu_panels_chosen_ = !given;
    gpu_panels_below = gpu_panels_below_in(
        mode, given, [&] { return basalt::rows_that_keep_cores_ahead(tuning, gpus, widths.width); });
    // Where few columns are left the GPUs wait for panels. Narrow ones come sooner, and the products are short anyway.
    const Index narrow_below = tuning.gpu.lu.narrow_hybrid_below;
    const bool waits_for_cores = mode == LuMode::hybrid && gpu_panels_below < narrow_below;
    if (waits_for_cores && options.narrow_at_end && widths.width >= 2 * tuning.gpu.lu.narrowest_hybrid_panel) {
        widths.narrow_below = narrow_below;
    }
    if (mode == LuMode::gpu && options.narrow_at_end) {
        // the GPU hides a panel behind the update as long as that takes longer
        widths.left_a_column = tuning.gpu.lu.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.lu.narrowing.narrowest_panel;
    }
    const PanelTeam& team = mode == LuMode::cpu ? tuning.cpu.lu.team : tuning.cpu.lu.team_beside_gpus;
    rows_a_panel_thread_ = team.rows_a_thread;
    panel_threads = std::min(options.panel_threads.value_or(team.most), workers);
}

void LuChoices::expect_updates_of(Index columns) {
    // cores keep ahead of a square of that order by its columns: rows cost cores and GPUs about the same
    if (gpu_panels_chosen_ && columns < gpu_panels_below) gpu_panels_below = all_panels_on_gpus;
}

Threads LuChoices::panel_team_for(Index rows, Index cols) const {
    constexpr double flops_a_microsecond = 1e4;  // of one thread, about
    const auto height = static_cast<double>(rows), width = static_cast<double>(cols);
    return {.min = 1,
            .max = panel_threads_for(rows),
            .patience = std::chrono::microseconds(std::lround(height * width * width / flops_a_microsecond))};
}

int LuChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    return static_cast<int>(std::clamp<Index>(rows / rows_a_panel_thread_, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
