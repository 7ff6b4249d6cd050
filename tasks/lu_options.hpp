#pragma once

#include "basalt/lu.hpp"
#include "tasks/gpu_panels.hpp"
#include "tasks/lu_state.hpp"

namespace basalt::detail {

/// LuOptions with every choice made. Throws UsageError for options out of range.
struct LuChoices {
    LuChoices(const Tuning& tuning, const LuOptions& options, Index m, Index n, int workers, int gpus);

    /// Threads for a panel of so many rows: fewer for short ones, where synchronising costs more than it gains.
    int panel_threads_for(Index rows) const;

    /// Whether a GPU factors a panel of a matrix of m rows, not the cores.
    bool on_gpu(const Panel& panel, Index m) const { return is_factored_on_gpu(panel, m, gpu_panels_below); }
    /// A step updates no more than so many columns: where cores keep ahead of no such update, whatever its rows, all
    /// panels are the GPUs', unless the options say which.
    void expect_updates_of(Index columns);

    PanelWidths widths;
    Index coarse_width;  ///< 0: one level of blocking; -1: chosen_coarse_width()
    int panel_threads;
    bool panel_threads_given;
    int lookahead;
    Index panels_alone_below;  ///< columns left below which a GPU that factors a panel updates nothing meanwhile
    bool left_interchanges;
    LuMode mode;             ///< never automatic
    Index gpu_panels_below;  ///< rows left from which on GPUs factor the panels
    bool single_update_task;
    bool solve_by_inverse;
    bool split_products;
    bool broadcast_from_host;
    bool tf32;
    bool panel_log;

  private:
    Index rows_a_panel_thread_;
    bool gpu_panels_chosen_;
};

}  // namespace basalt::detail
