#include "tasks/lu_options.hpp"

#include <algorithm>
#include <string>

#include "basalt/tuning.hpp"
#include "tasks/option_range.hpp"
#include "tasks/tuning_entry.hpp"

namespace basalt {

namespace {

using detail::entry_for;

/// Rows left at which GPUs update as fast as cores factor and send a panel of nb columns.
Index rows_that_keep_cores_ahead(const Tuning& tuning, int gpus, Index nb) {
    const double update = 2 / tuning.gpu.lu.update_rate / gpus;
    return detail::rows_that_keep_cores_ahead(update, tuning.cpu.lu.panel_element_seconds * static_cast<double>(nb),
                                              tuning.cpu.lu.panel_column_seconds);
}

}  // namespace

Index default_lu_panel(const Tuning& tuning, LuMode mode, Index m, Index n, int gpus) {
    const Index steps = std::min(m, n);
    if (mode == LuMode::cpu) return entry_for(tuning.cpu.lu.sizes, steps).panel;
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    if (mode == LuMode::gpu) return entry_for(lu.sizes, steps).gpu_panel;
    // with so much work for each GPU the cores keep ahead with wider panels too, and products are faster
    return (steps - 1) / gpus >= lu.wide_hybrid_above ? lu.wide_hybrid_panel : entry_for(lu.sizes, steps).hybrid_panel;
}

TileShape default_lu_tile(const Tuning& tuning, Index m, Index n, int gpus) {
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    const Index steps = std::min(m, n);
    if (gpus == 0 || steps < lu.smallest_order) return entry_for(tuning.cpu.lu.sizes, steps).tile;
    const Index tile = detail::dealt_tile(entry_for(lu.sizes, steps).tile, lu.deal, n, gpus);
    return {tile, tile};
}

LuMode chosen_lu_mode(const Tuning& tuning, const LuOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == LuMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == LuMode::hybrid || options.mode == LuMode::gpu)) {
        throw UsageError(std::string("LuOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    LuMode mode = options.mode;
    if (mode == LuMode::automatic) {
        const LuMode on_gpus = options.lookahead > 1 ? LuMode::hybrid : LuMode::gpu;
        mode = gpus > 0 && (options.tf32 || options.coarse_width > 0 || std::min(m, n) >= tuning.gpu.lu.smallest_order)
                   ? on_gpus
                   : LuMode::cpu;
    }
    if (options.tf32 && mode == LuMode::cpu) {
        throw UsageError("LuOptions::tf32 in mode cpu, which has no such products; allowed is hybrid or gpu");
    }
    const std::string lookahead = "LuOptions::lookahead = " + std::to_string(options.lookahead);
    if (mode == LuMode::gpu && options.lookahead > 1) {
        throw UsageError(lookahead + " in mode gpu; allowed is -1 (chosen), 0 or 1");
    }
    if (mode == LuMode::hybrid && options.lookahead > 1 && options.gpu_panels_below > 0) {
        throw UsageError(lookahead + " with gpu_panels_below = " + std::to_string(options.gpu_panels_below) +
                         "; allowed together is -1 (chosen), 0 or 1");
    }
    return mode;
}

namespace detail {

LuChoices::LuChoices(const Tuning& tuning, const LuOptions& options, Index m, Index n, int workers, int gpus)
    : widths{options.panel_width},
      coarse_width(options.coarse_width),
      panel_threads(options.panel_threads),
      panel_threads_given(options.panel_threads > 0),
      lookahead(options.lookahead),
      left_interchanges(options.left_interchanges),
      mode(chosen_lu_mode(tuning, options, m, n, gpus)),
      gpu_panels_below(options.gpu_panels_below),
      single_update_task(options.single_update_task),
      solve_by_inverse(options.solve_by_inverse),
      split_products(options.split_products),
      broadcast_from_host(options.broadcast_from_host),
      tf32(options.tf32),
      panel_log(options.panel_log) {
    require_from("LuOptions::panel_width", widths.width, 0);
    require_from("LuOptions::panel_threads", panel_threads, 0);
    require_from("LuOptions::lookahead", lookahead, -1);
    require_from("LuOptions::coarse_width", coarse_width, -1, "chosen");
    require_from("LuOptions::gpu_panels_below", gpu_panels_below, -1);
    if (coarse_width > 0 && (mode != LuMode::gpu || lookahead == 0 || single_update_task)) {
        throw UsageError("LuOptions::coarse_width = " + std::to_string(coarse_width) +
                         "; allowed is 0 but in mode gpu with a lookahead of 1 and several update tasks a step");
    }
    if (mode != LuMode::cpu) widths.width = std::min(widths.width, widest_gpu_panel);
    if (lookahead < 0) lookahead = 1;
    panels_alone_below = detail::panels_alone_below(tuning.gpu.lu.deal, gpus);
    if (widths.width == 0) widths.width = default_lu_panel(tuning, mode, m, n, gpus);
    if (lookahead > 1) gpu_panels_below = 0;
    gpu_panels_chosen_ = gpu_panels_below < 0;
    gpu_panels_below = gpu_panels_below_in(
        mode, gpu_panels_below, [&] { return basalt::rows_that_keep_cores_ahead(tuning, gpus, widths.width); });
    // where so few columns are left the GPUs wait for panels: narrow ones come sooner, and the products are short
    // anyway
    const Index narrow_below = tuning.gpu.lu.narrow_hybrid_below;
    const bool waits_for_cores = mode == LuMode::hybrid && gpu_panels_below < narrow_below;
    if (waits_for_cores && options.narrow_at_end && widths.width >= 2 * tuning.gpu.lu.narrowest_hybrid_panel) {
        widths.narrow_below = narrow_below;
    }
    if (mode == LuMode::gpu && options.narrow_at_end) {
        // a panel on a GPU is factored beside the update as long as this lasts longer
        widths.left_a_column = tuning.gpu.lu.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.lu.narrowing.narrowest_panel;
    }
    const PanelTeam& team = mode == LuMode::cpu ? tuning.cpu.lu.team : tuning.cpu.lu.team_beside_gpus;
    rows_a_panel_thread_ = team.rows_a_thread;
    if (panel_threads == 0) panel_threads = std::min(workers, team.most);
    panel_threads = std::min(panel_threads, workers);
}

void LuChoices::expect_updates_of(Index columns) {
    // cores that keep ahead of a square of that order do so by its columns: rows cost both about the same
    if (gpu_panels_chosen_ && columns < gpu_panels_below) gpu_panels_below = all_panels_on_gpus;
}

int LuChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    return static_cast<int>(std::clamp<Index>(rows / rows_a_panel_thread_, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
