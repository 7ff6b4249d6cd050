#pragma once

#include "apps/hpl/run.hpp"

namespace basalt {

/// HPL-MxP: for each grid, N and NB of the input, a diagonally dominant system is factored in low precision and its
/// solution refined until its residual passes HPL's rule in double. A is generated again for each residual and never
/// stored in double. A line a test gives its rates and the residual, which is computed again for the check. Returns the
/// exit status.
///
/// Source of matrix and rule: the reference implementation of HPL-MxP (ICL, University of Tennessee).
int run_mxp(const HplOptions& options, const HplInput& input, const Settings& settings);

}  // namespace basalt
