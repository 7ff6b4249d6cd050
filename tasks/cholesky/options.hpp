#pragma once

#include <optional>

#include "basalt/cholesky.hpp"
#include "basalt/tuning.hpp"
#include "tasks/on_gpus/gpu_panels.hpp"

namespace basalt::detail {

/// CholeskyOptions with every choice made. Throws UsageError for options out of range.
struct CholeskyChoices {
    CholeskyChoices(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width, int gpus);

    /// Whether a GPU factors a panel of a matrix of order n, not the cores.
    bool on_gpu(const Panel& panel, Index n) const { return is_factored_on_gpu(panel, n, gpu_panels_below); }

    FactorMode mode;  ///< never automatic, and gpu where hybrid leaves the cores no panel
    PanelWidths widths;
    CoreDepth depth;  ///< mode cpu
    int lookahead;
    Index gpu_panels_below;  ///< GPUs factor the panels where at most this many rows are left
    bool rows_on_cores;
    bool keep_other_side;
    ProductPrecision products;
    std::optional<bool> left_looking;  ///< nothing: where it is faster
};

}  // namespace basalt::detail
