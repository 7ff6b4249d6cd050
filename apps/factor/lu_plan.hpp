#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apps/factor/factor_plan.hpp"
#include "apps/input/gpu_options.hpp"

namespace basalt {

/// How one LU factorization runs, with all choices made.
struct LuPlan : FactorPlan {
    LuOptions options;  ///< with mode and panel width
};

/// The plan for an m x n matrix of elements of `element_size` bytes. The library chooses a tile and a panel width for
/// the mode if the settings name none; tiles are smaller if the GPUs have little memory. `panel_width`, if given,
/// overrides the settings. The models know the runs as `routine`. Throws UsageError as choose_lu_mode() does, and
/// WrongUse as require_panels_on_cores() and set_choice() do.
LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size, std::optional<Index> panel_width = std::nullopt,
               const char* routine = "getrf");

/// Decides, for the plan's tiles and panels, whether the GPUs can hold the matrix and whether it moves.
void plan_moves(LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size);

/// Throws MachineFailure, which names `what` and bytes, unless the host's memory holds all that the plan keeps there:
/// the matrix if it does not stay on GPUs, the memory of emulated GPUs, and `other_bytes`. If the GPUs cannot hold the
/// matrix, the message says how many bytes they lack; `advice` ends that sentence.
void require_room(const LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size,
                  double other_bytes, const std::string& what, const std::string& advice = "");

}  // namespace basalt
