#include "tasks/lu_options.hpp"

#include <algorithm>
#include <array>
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

}  // namespace

namespace {

struct HybridEntry {
    Index up_to;  ///< smaller dimension
    Index panel;
    Index tile;  ///< width and height; wide ones keep the GPUs' products fast
};

// docs/decisions/0009-hybrid-lu.md has the measurements.
constexpr std::array hybrid_sizes{HybridEntry{2047, 64, 128}, HybridEntry{8192, 128, 512}, HybridEntry{20480, 256, 1024},
                                  HybridEntry{Index{1} << 62, 256, 2048}};

// Where so few columns are left the GPUs wait for panels: narrow ones come sooner, and the products are short anyway.
constexpr Index narrow_hybrid_below = 12288;

// Below this order the cores alone are done before the GPUs have the matrix.
constexpr Index smallest_hybrid = 2048;

const HybridEntry& hybrid_entry(Index m, Index n) {
    const Index steps = std::min(m, n);
    return *std::find_if(hybrid_sizes.begin(), hybrid_sizes.end(), [&](const HybridEntry& e) { return steps <= e.up_to; });
}

}  // namespace

Index default_hybrid_panel(Index m, Index n, int gpus) {
    // with so much work for each GPU the cores keep ahead with wider panels too, and products are faster
    constexpr Index wide_from = 40960, wide = 512;
    return std::min(m, n) > wide_from * gpus ? wide : hybrid_entry(m, n).panel;
}

TileShape default_lu_tile(Index m, Index n, int, int gpus) {
    const Index steps = std::min(m, n);
    if (gpus > 0 && steps >= smallest_hybrid) return {hybrid_entry(m, n).tile, hybrid_entry(m, n).tile};
    return std::find_if(sizes.begin(), sizes.end(), [&](const SizeEntry& e) { return steps <= e.up_to; })->tile;
}

LuMode chosen_lu_mode(const LuOptions& options, Index m, Index n, int gpus) {
    if (options.mode == LuMode::hybrid && gpus == 0) {
        throw UsageError("LuOptions::mode = hybrid, but the runtime has no GPU; Config::emulation provides emulated ones");
    }
    if (options.mode != LuMode::automatic) return options.mode;
    return gpus > 0 && std::min(m, n) >= smallest_hybrid ? LuMode::hybrid : LuMode::cpu;
}

namespace detail {

LuChoices::LuChoices(const LuOptions& options, Index m, Index n, int workers, int gpus)
    : panel_width(options.panel_width),
      narrow_below(0),
      panel_threads(options.panel_threads),
      panel_threads_given(options.panel_threads > 0),
      lookahead(options.lookahead),
      left_interchanges(options.left_interchanges),
      hybrid(chosen_lu_mode(options, m, n, gpus) == LuMode::hybrid),
      single_update_task(options.single_update_task),
      solve_by_inverse(options.solve_by_inverse),
      broadcast_from_host(options.broadcast_from_host) {
    if (panel_width < 0) {
        throw UsageError("LuOptions::panel_width = " + std::to_string(panel_width) +
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
    if (panel_width == 0) panel_width = hybrid ? default_hybrid_panel(m, n, gpus) : default_lu_tile(m, n, workers).width;
    if (hybrid && options.narrow_at_end && panel_width >= 128) narrow_below = narrow_hybrid_below;
    if (panel_threads == 0) panel_threads = std::min(workers, (hybrid ? hybrid_team : cpu_team).most);
    panel_threads = std::min(panel_threads, workers);
    if (lookahead < 0) lookahead = 1;
}

int LuChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    const Index share = (hybrid ? hybrid_team : cpu_team).rows_a_thread;
    return static_cast<int>(std::clamp<Index>(rows / share, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
