#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "basalt/factor_mode.hpp"
#include "tiles/panels.hpp"

/// Which panels GPUs factor (gpu_panels_below of LuOptions, CholeskyOptions and QrOptions).
namespace basalt::detail {

/// A value of gpu_panels_below.
inline constexpr Index all_panels_on_gpus = std::numeric_limits<Index>::max();

/// Whether a GPU factors a panel of a matrix of `rows` rows, not the cores: where no more than gpu_panels_below rows
/// are left, and the first panel, since the GPUs have nothing else to do then.
constexpr bool is_factored_on_gpu(const Panel& panel, Index rows, Index gpu_panels_below) {
    return gpu_panels_below > 0 && (panel.first == 0 || rows - panel.first <= gpu_panels_below);
}

/// gpu_panels_below in a mode that is not automatic: the option's, or chosen() where that is left to the library.
template <class Choose>
Index gpu_panels_below_in(FactorMode mode, std::optional<Index> option, const Choose& chosen) {
    if (mode == FactorMode::gpu) return all_panels_on_gpus;
    if (mode == FactorMode::cpu) return 0;
    return option ? *option : chosen();
}

/// The rows r left at which the GPUs' update, square r^2 seconds, takes as long as the cores' panel, linear r +
/// constant seconds. With fewer rows the GPUs would wait.
inline Index rows_that_keep_cores_ahead(double square, double linear, double constant) {
    return static_cast<Index>((linear + std::sqrt(linear * linear + 4 * square * constant)) / (2 * square));
}

}  // namespace basalt::detail
