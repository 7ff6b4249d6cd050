#pragma once

#include "basalt/qr.hpp"
#include "tasks/on_gpus/gpu_panels.hpp"

namespace basalt::detail {

/// QrOptions with every choice made. Throws UsageError for options out of range.
struct QrChoices {
    QrChoices(const Tuning& tuning, const QrOptions& options, Index m, Index n, int workers, int gpus);

    /// Threads for a panel of `rows` rows: fewer for short panels, where synchronising costs more than it gains.
    int panel_threads_for(Index rows) const;

    /// Whether `threads` threads reduce a panel of `bytes` bytes by a tree, if it is tall enough.
    bool tree_for(int threads, double bytes) const;

    /// Whether a GPU factors a panel of a matrix of m rows, not the cores.
    bool on_gpu(const Panel& panel, Index m) const { return is_factored_on_gpu(panel, m, gpu_panels_below); }

    QrMode mode;      ///< never automatic, and gpu where hybrid leaves the cores no panel
    QrMethod method;  ///< never automatic
    PanelWidths widths;
    Index inner_width = 0;   ///< of QrMethod::tile
    Index domain_tiles = 0;  ///< 0: all tile rows one after the other
    int panel_threads;
    bool panel_threads_given;
    int lookahead;
    Index panels_alone_below;  ///< with fewer columns left, a GPU that factors a panel updates nothing meanwhile
    Index gpu_panels_below;    ///< GPUs factor the panels where at most this many rows are left
    bool split_products;

  private:
    QrTree tree_;
    double tree_bytes_;
    Index rows_a_panel_thread_;
};

}  // namespace basalt::detail
