#pragma once

#include <cmath>
#include <limits>

#include "basalt/factor_mode.hpp"
#include "tiles/panels.hpp"

/// Which panels are the GPUs' (gpu_panels_below of LuOptions, CholeskyOptions and QrOptions).
namespace basalt::detail {

/// As gpu_panels_below.
inline constexpr Index all_panels_on_gpus = std::numeric_limits<Index>::max();

/// Whether a GPU factors a panel of a matrix of so many rows, not the cores: where no more than gpu_panels_below rows
/// are left, and the first one, before there is anything that the GPUs could do meanwhile.
constexpr bool is_factored_on_gpu(const Panel& panel, Index rows, Index gpu_panels_below) {
    return gpu_panels_below > 0 && (panel.first == 0 || rows - panel.first <= gpu_panels_below);
}

/// gpu_panels_below in a mode that is not automatic: the option's, or chosen() where that is -1.
template <class Choose>
Index gpu_panels_below_in(FactorMode mode, Index option, const Choose& chosen) {
    if (mode == FactorMode::gpu) return all_panels_on_gpus;
    if (mode == FactorMode::cpu) return 0;
    return option >= 0 ? option : chosen();
}

/// Rows r left at which GPUs update in square r^2 seconds what cores need linear r + constant for. Behind that the GPUs
/// would wait.
inline Index rows_that_keep_cores_ahead(double square, double linear, double constant) {
    return static_cast<Index>((linear + std::sqrt(linear * linear + 4 * square * constant)) / (2 * square));
}

}  // namespace basalt::detail
