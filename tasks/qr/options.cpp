#include "tasks/qr/options.hpp"

#include <algorithm>
#include <string>

#include "tasks/choices/option_range.hpp"
#include "tasks/choices/tuning_entry.hpp"

namespace basalt {

namespace {

using detail::entry_for;

void require_option(bool allowed, const std::string& what) {
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
    const Index columns = std::max<Index>(n, 1);
    return {tile, std::min(gpus == 1 ? detail::even_tile(tile, columns) : tile, columns)};
}

QrMode chosen_qr_mode(const Tuning& tuning, const QrOptions& options, Index m, Index n, int gpus) {
    const char* const name = options.mode == QrMode::gpu ? "gpu" : "hybrid";
    require_option(
        gpus > 0 || (options.mode != QrMode::hybrid && options.mode != QrMode::gpu),
        std::string("mode = ") + name + ", but the runtime has no GPU; Config::emulation provides emulated ones");
    QrMode mode = options.mode;
    if (mode == QrMode::automatic && (options.method == QrMethod::tile || options.tree == QrTree::always))
        mode = QrMode::cpu;
    if (mode == QrMode::automatic) {
        const auto steps = static_cast<double>(std::min(m, n)), other = static_cast<double>(std::max(m, n));
        const bool worth_it = 2 * steps * steps * (other - steps / 3) >= tuning.gpu.qr.least_work;
        mode = gpus > 0 && worth_it ? QrMode::gpu : QrMode::cpu;
    }
    const int lookahead = options.lookahead.value_or(1);
    require_option(mode == QrMode::cpu || lookahead <= 1, "lookahead = " + std::to_string(lookahead) + " in mode " +
                                                              (mode == QrMode::gpu ? "gpu" : "hybrid") +
                                                              "; allowed is 0 or 1");
    return mode;
}

QrMethod chosen_qr_method(const Tuning& tuning, const QrOptions& options, QrMode mode, Index m, Index n) {
    if (mode != QrMode::cpu) {
        const std::string in_mode = std::string(" in mode ") + (mode == QrMode::gpu ? "gpu" : "hybrid");
        require_option(options.method != QrMethod::tile,
                       "method = tile" + in_mode + "; allowed is blocked, or mode cpu");
        require_option(options.tree != QrTree::always,
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
            chosen.panel_threads.reset();
        } else {
            chosen.inner_width.reset();
        }
    }
    return chosen;
}

namespace detail {

QrChoices::QrChoices(const Tuning& tuning, const QrOptions& options, Index m, Index n, int workers, int gpus)
    : mode(chosen_qr_mode(tuning, options, m, n, gpus)),
      method(chosen_qr_method(tuning, options, mode, m, n)),
      panel_threads_given(options.panel_threads.has_value()),
      lookahead(options.lookahead.value_or(1)),
      split_products(options.split_products),
      tree_(options.tree),
      tree_bytes_(tuning.cpu.qr.tree_bytes) {
    require_at_least("QrOptions::panel_width", options.panel_width, 1);
    require_at_least("QrOptions::panel_threads", options.panel_threads, 1);
    require_at_least("QrOptions::inner_width", options.inner_width, 1);
    require_at_least("QrOptions::lookahead", options.lookahead, 0);
    require_at_least("QrOptions::gpu_panels_below", options.gpu_panels_below, 0);
    require_option(!options.panel_threads || options.method != QrMethod::tile,
                   "panel_threads = " + std::to_string(options.panel_threads.value_or(0)) +
                       " with method = tile, which has no gangs; allowed is nothing, or method blocked");
    require_option(!options.inner_width || options.method != QrMethod::blocked,
                   "inner_width = " + std::to_string(options.inner_width.value_or(0)) +
                       " with method = blocked; allowed is nothing, or method tile");
    QrOptions decided = options;
    decided.mode = mode;
    if (method == QrMethod::tile) {
        const auto steps = static_cast<double>(std::min(m, n));
        const bool tall = static_cast<double>(m) >= tuning.cpu.qr.domain_aspect * steps;
        if (tree_ == QrTree::always || (tree_ == QrTree::automatic && tall)) domain_tiles = tuning.cpu.qr.domain_tiles;
        inner_width = options.inner_width.value_or(entry_for(tuning.cpu.qr.tile_sizes, std::min(m, n)).inner);
        widths.width = options.panel_width.value_or(any_size);  // a tile's
    } else {
        widths.width = options.panel_width.value_or(default_qr_panel(tuning, decided, m, n, gpus));
    }
    gpu_panels_below = basalt::gpu_panels_below(tuning, decided, m, n, gpus);
    if (mode == QrMode::hybrid && m <= gpu_panels_below) mode = QrMode::gpu;
    if (mode != QrMode::cpu) widths.width = std::min(widths.width, widest_qr_gpu_panel);
    if (mode == QrMode::gpu && options.narrow_at_end) {
        widths.left_a_column = tuning.gpu.qr.narrowing.left_a_panel_column;
        widths.narrowest = tuning.gpu.qr.narrowing.narrowest_panel;
    }
    // without a lookahead all panels go alone
    panels_alone_below = lookahead == 0 ? n + 1 : detail::panels_alone_below(tuning.gpu.qr.deal, gpus);
    // where there is enough to update meanwhile, half of the cores do that
    const bool shared = mode == QrMode::cpu && n / tuning.cpu.qr.shared_panels > widths.width;
    const int most = std::clamp(shared ? workers / 2 : workers, 1, tuning.cpu.qr.team.most);
    panel_threads = std::min(options.panel_threads.value_or(most), workers);
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
