#pragma once

#include <cstddef>

#include "apps/factor/factor_plan.hpp"
#include "apps/input/gpu_options.hpp"
#include "basalt/cholesky.hpp"

namespace basalt {

/// How one Cholesky factorization runs, with all choices made.
struct CholeskyPlan : FactorPlan {
    CholeskyOptions options;  ///< with mode and panel width
};

/// What the settings and options say about panels.
CholeskyOptions cholesky_panel_options(const Settings& settings, const GpuOptions& gpu);

/// The plan for that triangle of a matrix of order n with elements of `element_size` bytes. The library chooses a tile
/// and a panel width for the mode if the settings name none; tiles are smaller if the GPUs have little memory. Throws
/// UsageError as choose_cholesky_mode() does, and WrongUse as set_choice() does.
CholeskyPlan cholesky_plan(const Settings& settings, const GpuOptions& gpu, Triangle triangle, const Runtime& runtime,
                           Index n, std::size_t element_size);

}  // namespace basalt
