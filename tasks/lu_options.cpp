#include "tasks/lu_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace basalt {

namespace {

struct SizeEntry {
    Index up_to;  ///< smaller dimension
    TileShape tile;
};

// Measured; docs/decisions/0005-lu.md has the table. Width is the panel's too.
constexpr std::array sizes{SizeEntry{256, {128, 32}}, SizeEntry{768, {256, 64}}, SizeEntry{3000, {512, 128}},
                           SizeEntry{Index{1} << 62, {512, 256}}};

/// The team of a panel: a thread for so many rows, as long as there are more of them; 1 at least.
struct PanelTeamRule {
    Index rows_a_thread;
    int most;
};

// A column costs every member an exchange of about half a microsecond whatever its rows, and 256 columns cost it
// 1.3 us a row (docs/decisions/0004-panel.md). On cores alone, a thread that is half idle in the panel is missed by
// the updates: 512 rows, where waiting is a fifth. In hybrid mode the cores have little else to do, and the next
// panel is what the GPUs wait for at the end: 256 rows, below which another thread gains next to nothing.
constexpr PanelTeamRule cpu_team{512, 16}, hybrid_team{256, 32};

struct GpuEntry {
    Index up_to;  ///< smaller dimension
    Index hybrid_panel;
    Index gpu_panel;
    Index tile;  ///< width and height; wide ones keep the GPUs' products fast
};

// docs/decisions/0009-hybrid-lu.md and 0010-lu-on-gpus.md have the measurements.
constexpr std::array gpu_sizes{GpuEntry{2047, 64, 128, 512}, GpuEntry{4096, 128, 128, 512},
                               GpuEntry{8192, 128, 256, 1024}, GpuEntry{16384, 256, 512, 4096},
                               GpuEntry{Index{1} << 62, 256, 1024, 4096}};

// Panels on a GPU are factored beside the updates as long as these last longer, for which so many columns have to be
// left for each of a panel's. Panels narrower than the second number do not come sooner for each column.
constexpr Index left_a_column = 16, narrowest_on_gpu = 128;

// Several GPUs have the same work at the end only if each has some tile columns then.
constexpr Index tile_columns_a_gpu = 8, smallest_gpu_tile = 512;

// Where so few columns are left the GPUs wait for panels: narrow ones come sooner, and the products are short anyway.
constexpr Index narrow_hybrid_below = 12288;

// Below this order the cores alone are done before the GPUs have the matrix.
constexpr Index smallest_on_gpus = 2048;

const GpuEntry& gpu_entry(Index m, Index n) {
    const Index steps = std::min(m, n);
    return *std::find_if(gpu_sizes.begin(), gpu_sizes.end(), [&](const GpuEntry& e) { return steps <= e.up_to; });
}

/// Rows left at which GPUs update as fast as cores factor and send a panel, for what was measured: 50 Tflop/s a GPU,
/// 8 us a column and, in a panel of nb columns, nb times 3.5 ps an element. Behind that the GPUs would wait.
Index rows_that_keep_cores_ahead(int gpus, Index nb) {
    constexpr double update_a_row = 2 / 50e12, column = 8e-6;
    const double element = 3.5e-12 * static_cast<double>(nb), a = update_a_row / gpus;  // a r^2 = column + element r
    return static_cast<Index>((element + std::sqrt(element * element + 4 * a * column)) / (2 * a));
}

}  // namespace

Index default_lu_panel(LuMode mode, Index m, Index n, int gpus) {
    // with so much work for each GPU the cores keep ahead with wider panels too, and products are faster
    constexpr Index wide_from = 40960, wide = 512;
    if (mode == LuMode::cpu) return default_lu_tile(m, n, 1).width;
    if (mode == LuMode::gpu) return gpu_entry(m, n).gpu_panel;
    return std::min(m, n) > wide_from * gpus ? wide : gpu_entry(m, n).hybrid_panel;
}

TileShape default_lu_tile(Index m, Index n, int, int gpus) {
    const Index steps = std::min(m, n);
    if (gpus > 0 && steps >= smallest_on_gpus) {
        Index tile = gpu_entry(m, n).tile;
        while (gpus > 1 && tile > smallest_gpu_tile && n / tile < tile_columns_a_gpu * gpus) tile /= 2;
        return {tile, tile};
    }
    return std::find_if(sizes.begin(), sizes.end(), [&](const SizeEntry& e) { return steps <= e.up_to; })->tile;
}

LuMode chosen_lu_mode(const LuOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == LuMode::gpu ? "gpu" : "hybrid";
    if (gpus == 0 && (options.mode == LuMode::hybrid || options.mode == LuMode::gpu)) {
        throw UsageError(std::string("LuOptions::mode = ") + name +
                         ", but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    LuMode mode = options.mode;
    if (mode == LuMode::automatic) {
        const LuMode on_gpus = options.lookahead > 1 ? LuMode::hybrid : LuMode::gpu;
        mode = gpus > 0 && (options.tf32 || std::min(m, n) >= smallest_on_gpus) ? on_gpus : LuMode::cpu;
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

LuChoices::LuChoices(const LuOptions& options, Index m, Index n, int workers, int gpus)
    : widths{options.panel_width},
      panel_threads(options.panel_threads),
      panel_threads_given(options.panel_threads > 0),
      lookahead(options.lookahead),
      left_interchanges(options.left_interchanges),
      mode(chosen_lu_mode(options, m, n, gpus)),
      gpu_panels_below(options.gpu_panels_below),
      single_update_task(options.single_update_task),
      solve_by_inverse(options.solve_by_inverse),
      split_products(options.split_products),
      broadcast_from_host(options.broadcast_from_host),
      tf32(options.tf32),
      panel_log(options.panel_log) {
    if (widths.width < 0) {
        throw UsageError("LuOptions::panel_width = " + std::to_string(widths.width) +
                         "; allowed is 0 (chosen) or at least 1");
    }
    if (panel_threads < 0) {
        throw UsageError("LuOptions::panel_threads = " + std::to_string(panel_threads) +
                         "; allowed is 0 (chosen) or at least 1");
    }
    if (lookahead < -1) {
        throw UsageError("LuOptions::lookahead = " + std::to_string(lookahead) +
                         "; allowed is -1 (chosen) or at least 0");
    }
    if (gpu_panels_below < -1) {
        throw UsageError("LuOptions::gpu_panels_below = " + std::to_string(gpu_panels_below) +
                         "; allowed is -1 (chosen) or at least 0");
    }
    if (mode != LuMode::cpu) widths.width = std::min(widths.width, widest_gpu_panel);
    if (lookahead < 0) lookahead = 1;
    if (mode == LuMode::gpu) {
        gpu_panels_below = std::numeric_limits<Index>::max();
    } else if (mode == LuMode::cpu || lookahead > 1) {
        gpu_panels_below = 0;
    }
    if (widths.width == 0) widths.width = default_lu_panel(mode, m, n, gpus);
    if (gpu_panels_below < 0) gpu_panels_below = rows_that_keep_cores_ahead(gpus, widths.width);
    const bool waits_for_cores = mode == LuMode::hybrid && gpu_panels_below < narrow_hybrid_below;
    if (waits_for_cores && options.narrow_at_end && widths.width >= 128) widths.narrow_below = narrow_hybrid_below;
    if (mode == LuMode::gpu && options.narrow_at_end) {
        widths.left_a_column = left_a_column;
        widths.narrowest = narrowest_on_gpu;
    }
    if (panel_threads == 0) panel_threads = std::min(workers, (mode == LuMode::cpu ? cpu_team : hybrid_team).most);
    panel_threads = std::min(panel_threads, workers);
}

int LuChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    const Index share = (mode == LuMode::cpu ? cpu_team : hybrid_team).rows_a_thread;
    return static_cast<int>(std::clamp<Index>(rows / share, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
