#include "tasks/qr_options.hpp"

#include <algorithm>
#include <string>

#include "tasks/option_range.hpp"
#include "tasks/tuning_entry.hpp"

namespace basalt {

namespace {

using detail::entry_for;

void require(bool allowed, const std::string& what) {
    if (!allowed) throw UsageError("QrOptions::" + what);
}

/// Rows r left at which GPUs update the columns left, r - (m - n), as fast as cores factor and send a panel.
Index rows_that_keep_cores_ahead(const Tuning& tuning, int gpus, Index m, Index n) {
    const double update = 4 / tuning.gpu.qr.update_rate / gpus;
    const double row = tuning.cpu.qr.panel_row_seconds + update * static_cast<double>(m - n);
    return detail::rows_that_keep_cores_ahead(update, row, tuning.cpu.qr.panel_column_seconds);
}

/// options.gpu_panels_below with the choice made.
Index gpu_panels_below(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus) {
    return detail::gpu_panels_below_in(options.mode, options.gpu_panels_below,
                                       [&] { return rows_that_keep_cores_ahead(tuning, gpus, m, n); });
}

}  // namespace

Index default_qr_panel(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus) {
    const Index steps = std::min(m, n);
    if (options.mode == QrMode::cpu) return entry_for(tuning.cpu.qr.sizes, steps).panel;
    const GpuSizes& sizes = entry_for(tuning.gpu.qr.sizes, steps);
    return m > gpu_panels_below(tuning, options, m, n, gpus) ? sizes.hybrid_panel : sizes.gpu_panel;
}

TileShape default_qr_tile(const Tuning& tuning, Index m, Index n, int gpus, QrMethod method) {
    const Index steps = std::min(m, n);
    if (method == QrMethod::tile) {
        const TileShape tile = entry_for(tuning.cpu.qr.tile_sizes, steps).tile;
        return {tile.height, std::clamp<Index>(n, 1, tile.width)};
    }
    if (gpus == 0) return entry_for(tuning.cpu.qr.sizes, steps).tile;
    const Index tile = detail::dealt_tile(entry_for(tuning.gpu.qr.sizes, steps).tile, tuning.gpu.qr.deal, n, gpus);
    return {tile, std::min(tile, std::max<Index>(n, 1))};
}

QrMode chosen_qr_mode(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == QrMode::gpu ? "gpu" : "hybrid";
    require(gpus > 0 || (options.mode != QrMode::hybrid && options.mode != QrMode::gpu),
            std::string("mode = ") + name + ", but the runtime has no GPU; Config::emulation provides emulated ones");
    QrMode mode = options.mode;
    if (mode == QrMode::automatic && (options.method == QrMethod::tile || options.tree == QrTree::always))
        mode = QrMode::cpu;
    if (mode == QrMode::automatic) {
        const auto steps = static_cast<double>(std::min(m, n)), other = static_cast<double>(std::max(m, n));
        const bool worth_it = 2 * steps * steps * (other - steps / 3) >= tuning.gpu.qr.least_work;
        mode = gpus > 0 && worth_it ? QrMode::gpu : QrMode::cpu;
    }
    require(mode == QrMode::cpu || options.lookahead <= 1, "lookahead = " + std::to_string(options.lookahead) +
                                                               " in mode " + (mode == QrMode::gpu ? "gpu" : "hybrid") +
                                                               "; allowed is -1 (chosen), 0 or 1");
    return mode;
}

QrMethod chosen_qr_method(const Tuning& tuning, const QrOptions& options, QrMode mode, Index m, Index n) {
    if (mode != QrMode::cpu) {
        const std::string in_mode = std::string(" in mode ") + (mode == QrMode::gpu ? "gpu" : "hybrid");
        require(options.method != QrMethod::tile, "method = tile" + in_mode + "; allowed is blocked, or mode cpu");
        require(options.tree != QrTree::always,
                "tree = always" + in_mode + "; allowed is automatic or never, or mode cpu");
        return QrMethod::blocked;
    }
    if (options.method != QrMethod::automatic) return options.method;
    const auto steps = static_cast<double>(std::min(m, n));
    return static_cast<double>(m) >= tuning.cpu.qr.tile_aspect * steps ? QrMethod::tile : QrMethod::blocked;
}

QrOptions with_chosen_qr_method(const Tuning& tuning, const QrOptions& options, QrMode mode, Index m, Index n) {
    QrOptions chosen = options;
    chosen.mode = mode;
    chosen.method = chosen_qr_method(tuning, options, mode, m, n);
    if (options.method == QrMethod::automatic) {
        if (chosen.method == QrMethod::tile) {
            chosen.panel_threads = 0;
        } else {
            chosen.inner_width = 0;
        }
    }
    return chosen;
}

namespace detail {

QrChoices::QrChoices(const Tuning& tuning, const QrOptions& options, Index m, Index n, int workers, int gpus)
    : mode(chosen_qr_mode(tuning, options, m, n, gpus)),
      method(chosen_qr_method(tuning, options, mode, m, n)),
      widths{options.panel_width},
      inner_width(options.inner_width),
      domain_tiles(0),
      panel_threads(options.panel_threads),
      panel_threads_given(options.panel_threads > 0),
      lookahead(options.lookahead),
      gpu_panels_below(options.gpu_panels_below),
      split_products(options.split_products),
      tree_(options.tree),
      tree_bytes_(tuning.cpu.qr.tree_bytes) {
    Index& panel_width = widths.width;
    require_from("QrOptions::panel_width", panel_width, 0);
    require_from("QrOptions::panel_threads", panel_threads, 0);
    require_from("QrOptions::inner_width", inner_width, 0);
    require_from("QrOptions::lookahead", lookahead, -1);
    require_from("QrOptions::gpu_panels_below", gpu_panels_below, -1);
    require(panel_threads == 0 || options.method != QrMethod::tile,
            "panel_threads = " + std::to_string(panel_threads) +
                " with method = tile, which has no gangs; allowed is 0, or method blocked");
    require(inner_width == 0 || options.method != QrMethod::blocked,
            "inner_width = " + std::to_string(inner_width) + " with method = blocked; allowed is 0, or method tile");
    if (method == QrMethod::tile) {
        const auto steps = static_cast<double>(std::min(m, n));
        const bool tall = static_cast<double>(m) >= tuning.cpu.qr.domain_aspect * steps;
        if (tree_ == QrTree::always || (tree_ == QrTree::automatic && tall)) domain_tiles = tuning.cpu.qr.domain_tiles;
        if (inner_width == 0) inner_width = entry_for(tuning.cpu.qr.tile_sizes, std::min(m, n)).inner;
        if (panel_width == 0) panel_width = any_size;  // a tile's
    }
    QrOptions decided = options;
    decided.mode = mode;
    if (panel_width == 0) panel_width = default_qr_panel(tuning, decided, m, n, gpus);
    gpu_panels_below = basalt::gpu_panels_below(tuning, decided, m, n, gpus);
    if (mode == QrMode::hybrid && m <= gpu_panels_below) mode = QrMode::gpu;
    if (mode != QrMode::cpu) panel_width = std::min(panel_width, widest_qr_gpu_panel);
    if (mode == QrMode::gpu && options.narrow_at_end) {
        widths.left_a_column = tuning.gpu.qr.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.qr.narrowing.narrowest_panel;
    }
    if (lookahead < 0) lookahead = 1;
    // without a lookahead all panels go alone
    panels_alone_below = lookahead == 0 ? n + 1 : detail::panels_alone_below(tuning.gpu.qr.deal, gpus);
    // where there is enough to update meanwhile, half of the cores do that
    const bool shared = mode == QrMode::cpu && n / tuning.cpu.qr.shared_panels > panel_width;
    if (panel_threads == 0) panel_threads = std::clamp(shared ? workers / 2 : workers, 1, tuning.cpu.qr.team.most);
    panel_threads = std::min(panel_threads, workers);
    rows_a_panel_thread_ = tuning.cpu.qr.team.rows_a_thread;
}

bool QrChoices::tree_for(int threads, double bytes) const {
    return tree_ == QrTree::always || (tree_ == QrTree::automatic && bytes >= tree_bytes_ * threads);
}

int QrChoices::panel_threads_for(Index rows) const {
    if (panel_threads_given) return panel_threads;
    return static_cast<int>(std::clamp<Index>(rows / rows_a_panel_thread_, 1, panel_threads));
}

}  // namespace detail

}  // namespace basalt
