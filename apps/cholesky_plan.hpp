#pragma once

#include <cstddef>

#include "apps/factor_plan.hpp"
#include "apps/gpu_options.hpp"
#include "basalt/cholesky.hpp"

namespace basalt {

/// How one Cholesky factorization runs, with all choices made.
struct CholeskyPlan : FactorPlan {
    CholeskyOptions options;  ///< with mode and panel width
};

/// The plan for that triangle of a matrix of order n with elements of `element_size` bytes. Where the settings name no
/// tile or panel width, they are the library's choice for the mode, with smaller tiles where the GPUs have little
/// memory. Throws UsageError as choose_cholesky_mode() does.
CholeskyPlan cholesky_plan(const Settings& settings, const GpuOptions& gpu, Triangle triangle, const Runtime& runtime,
                           Index n, std::size_t element_size);

}  // namespace basalt
