#pragma once

#include <cstddef>
#include <string>

#include "apps/factor_plan.hpp"
#include "apps/gpu_options.hpp"

namespace basalt {

/// How one LU factorization runs, with all choices made.
struct LuPlan : FactorPlan {
    LuOptions options;  ///< with mode and panel width
};

/// The plan for an m x n matrix of elements of `element_size` bytes. Where the settings name no tile or panel width,
/// they are the library's choice for the mode, with smaller tiles where the GPUs have little memory. Throws UsageError
/// as choose_lu_mode() does, and WrongUse as require_panels_on_cores() does. `panel_width` above 0 takes the place of
/// the settings'; `routine` is what runs are learnt as.
LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size, Index panel_width = 0, const char* routine = "getrf");

/// Decides, for the plan's tiles and panels, whether the GPUs can hold the matrix and whether it moves.
void plan_moves(LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size);

/// Throws MachineFailure, naming `what` and bytes, unless the host's memory holds what the plan keeps there: the matrix
/// of `matrix_bytes`, where it does not stay on GPUs, and `other_bytes`. Where GPUs could not hold the matrix, it names
/// what they lack too; `advice` ends that sentence.
void require_room(const LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size,
                  double other_bytes, const std::string& what, const std::string& advice = "");

}  // namespace basalt
