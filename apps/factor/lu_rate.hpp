#pragma once

#include "basalt/lu.hpp"

namespace basalt {

/// Operations of an LU factorization: LAPACK's count in its leading terms, l k^2 - k^3 / 3 with k = min(m, n)
/// and l = max(m, n), which is 2/3 n^3 for m = n.
double lu_flops(Index m, Index n);

/// flop/s of a small factorization, measured now. A larger one is at least as fast. Takes well under a second.
template <class T>
double measured_lu_rate(Runtime& runtime);

}  // namespace basalt
