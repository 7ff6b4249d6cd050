#pragma once

#include <limits>
#include <vector>

namespace bench {

inline constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

/// What our runs of one size came to.
struct OurRuns {
    std::vector<double> seconds;  ///< of the rounds that count
    /// LAPACK's, of the first round's factors; NaN before the check and where they failed.
    double residual_ratio = std::numeric_limits<double>::quiet_NaN();

    bool passed() const { return residual_ratio < max_ratio; }
};

}  // namespace bench
