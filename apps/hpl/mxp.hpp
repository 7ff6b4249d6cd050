#pragma once

#include "apps/input/gpu_options.hpp"
#include "apps/input/settings.hpp"
#include "io/hpl/hpl_dat.hpp"

namespace basalt {

/// HPL-MxP: for each N and NB of the input, a diagonally dominant system is factored in low precision and its solution
/// refined until its residual passes HPL's rule in double. A is generated again for each residual and never stored in
/// double. Prints a line a run and returns the exit status. `precision`: one of factor_precision_names().
///
/// Source of matrix and rule: the reference implementation of HPL-MxP (ICL, University of Tennessee).
int run_mxp(const HplInput& input, const Settings& settings, const GpuOptions& gpu, const std::string& precision);

}  // namespace basalt
