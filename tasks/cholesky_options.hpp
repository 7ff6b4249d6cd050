#pragma once

#include "basalt/cholesky.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// CholeskyOptions with every choice made. Throws UsageError for options out of range.
struct CholeskyChoices {
    CholeskyChoices(const Tuning& tuning, const CholeskyOptions& options, Index n, Index tile_width, int gpus);

    FactorMode mode;  ///< never automatic
    PanelWidths widths;
    int lookahead;
    bool keep_other_side;
    bool split_products;
    int left_looking;  ///< -1: where it is faster
};

}  // namespace basalt::detail
