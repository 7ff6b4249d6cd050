#include "tasks/qr_options.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace basalt {

namespace {

struct SizeEntry {
    Index up_to;  ///< smaller dimension
    TileShape tile;
    Index panel;
};

// Measured; docs/decisions/0012-qr.md.
constexpr std::array sizes{SizeEntry{256, {128, 32}, 32}, SizeEntry{768, {256, 64}, 64},
                           SizeEntry{2000, {512, 128}, 128}, SizeEntry{Index{1} << 62, {512, 256}, 128}};

struct GpuEntry {
    Index up_to;  ///< smaller dimension
    Index tile;   ///< width and height; wide ones keep the GPUs' products fast
    Index hybrid_panel;
    Index gpu_panel;
};
constexpr std::array gpu_sizes{GpuEntry{4096, 512, 128, 128}, GpuEntry{8192, 1024, 128, 256},
                               GpuEntry{Index{1} << 62, 4096, 256, 256}};

// Below this order the cores alone are done before the GPUs have the matrix; a tall one has as much work with fewer
// columns.
constexpr double least_flops_on_gpus = 1e10;

// Several GPUs have the same work at the end only if each has some tile columns then.
constexpr Index tile_columns_a_gpu = 8, smallest_gpu_tile = 512;

// Rows of a panel's member: below, its column of products costs no more than the meeting.
constexpr Index rows_a_thread = 512;
constexpr int most_panel_threads = 32;

template <class Table>
const auto& entry(const Table& table, Index m, Index n) {
    const Index steps = std::min(m, n);
    return *std::find_if(table.begin(), table.end(), [&](const auto& e) { return steps <= e.up_to; });
}

void require(bool allowed, const std::string& what) {
    if (!allowed) throw UsageError("QrOptions::" + what);
}

}  // namespace

Index default_qr_panel(QrMode mode, Index m, Index n) {
    if (mode == QrMode::hybrid) return entry(gpu_sizes, m, n).hybrid_panel;
    if (mode == QrMode::gpu) return entry(gpu_sizes, m, n).gpu_panel;
    return entry(sizes, m, n).panel;
}

TileShape default_qr_tile(Index m, Index n, int, int gpus) {
    if (gpus > 0) {
        Index tile = entry(gpu_sizes, m, n).tile;
        while (gpus > 1 && tile > smallest_gpu_tile && n / tile < tile_columns_a_gpu * gpus) tile /= 2;
        return {tile, std::min(tile, std::max<Index>(n, 1))};
    }
    return entry(sizes, m, n).tile;
}

QrMode chosen_qr_mode(const QrOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == QrMode::gpu ? "gpu" : "hybrid";
    require(gpus > 0 || (options.mode != QrMode::hybrid && options.mode != QrMode::gpu),
            std::string("mode = ") + name + ", but the runtime has no GPU; Config::emulation provides emulated ones");
    QrMode mode = options.mode;
    if (mode == QrMode::automatic) {
        const auto steps = static_cast<double>(std::min(m, n)), other = static_cast<double>(std::max(m, n));
        const bool worth_it = 2 * steps * steps * (other - steps / 3) >= least_flops_on_gpus;
        mode = gpus > 0 && worth_it ? QrMode::gpu : QrMode::cpu;
    }
    require(mode == QrMode::cpu || options.lookahead <= 1, "lookahead = " + std::to_string(options.lookahead) +
                                                               " in mode " + (mode == QrMode::gpu ? "gpu" : "hybrid") +
                                                               "; allowed is -1 (chosen), 0 or 1");
    return mode;
}

namespace detail {

QrChoices::QrChoices(const QrOptions& options, Index m, Index n, int workers, int gpus)
    : mode(chosen_qr_mode(options, m, n, gpus)),
      panel_width(options.panel_width),
      panel_threads(options.panel_threads),
      panel_threads_given(options.panel_threads > 0),
      lookahead(options.lookahead),
      tree(options.tree) {
    require(panel_width >= 0, "panel_width = " + std::to_string(panel_width) + "; allowed is 0 (chosen) or at least 1");
    require(panel_threads >= 0,
            "panel_threads = " + std::to_string(panel_threads) + "; allowed is 0 (chosen) or at least 1");
    require(lookahead >= -1, "lookahead = " + std::to_string(lookahead) + "; allowed is -1 (chosen) or at least 0");
    if (panel_width == 0) panel_width = default_qr_panel(mode, m, n);
    if (mode != QrMode::cpu) panel_width = std::min(panel_width, widest_qr_gpu_panel);
    if (lookahead < 0) lookahead = 1;
    // where there is enough to update meanwhile, half of the cores do that
    const bool shared = mode == QrMode::cpu && n > 4 * panel_width;
    if (panel_threads == 0) panel_threads = std::clamp(shared ? workers / 2 : workers, 1, most_panel_threads);
    panel_threads = std::min(panel_threads, workers);
}

int QrChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    return static_cast<int>(std::clamp<Index>(rows / rows_a_thread, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
