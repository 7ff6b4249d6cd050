#pragma once

#include <optional>

#include "basalt/lu.hpp"
#include "basalt/tuning.hpp"
#include "tasks/on_gpus/gpu_panels.hpp"

namespace basalt::detail {

/// LuOptions with every choice made. Throws UsageError for options out of range.
struct LuChoices {
    LuChoices(const Tuning& tuning, const LuOptions& options, Index m, Index n, int workers, int gpus);

    /// Threads for a panel of `rows` rows: fewer for short panels, where synchronising costs more than it gains.
    int panel_threads_for(Index rows) const;
    /// The gang for a panel of rows x cols. Its size does not change the result (kernels/cpu/panel.hpp), so it takes
    /// what it gets within the time in which one thread alone would factor the panel.
    Threads panel_team_for(Index rows, Index cols) const;

    /// Whether a GPU factors a panel of a matrix of m rows, not the cores.
    bool on_gpu(const Panel& panel, Index m) const { return is_factored_on_gpu(panel, m, gpu_panels_below); }
    /// Whether columns are multiplied by powers of two before the factorization and U is multiplied back after it:
    /// where the range of the products' slices could cost small columns their digits.
    template <class T>
    bool scales_columns() const {
        return sizeof(T) == sizeof(float) && mode != LuMode::cpu && products == ProductPrecision::split_fp16;
    }
    /// A step updates at most `columns` columns. Where cores cannot keep ahead of such an update, whatever its rows,
    /// GPUs factor all panels, unless the options say which.
    void expect_updates_of(Index columns);

    PanelWidths widths;
    CoreDepth depth;                    ///< mode cpu
    std::optional<Index> coarse_width;  ///< 0: one level of blocking; nothing: GpuLuPlan chooses
    int panel_threads;
    bool panel_threads_given;
    int lookahead;
    Index panels_alone_below;  ///< with fewer columns left, a GPU that factors a panel updates nothing meanwhile
    bool left_interchanges;
    LuMode mode;             ///< never automatic
    Index gpu_panels_below;  ///< GPUs factor the panels where at most this many rows are left
    bool single_update_task;
    bool solve_by_inverse;
    bool broadcast_from_host;
    ProductPrecision products;
    bool panel_log;

  private:
    Index rows_a_panel_thread_;
    bool gpu_panels_chosen_;
};

}  // namespace basalt::detail
