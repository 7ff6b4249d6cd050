#pragma once

#include <limits>
#include <vector>

namespace bench {

inline constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

/// The results of our runs of one size.
struct OurRuns {
    std::vector<double> seconds;  ///< of the rounds that count
    /// LAPACK's ratio of the first round's factors; NaN before the check and if they failed.
    double residual_ratio = std::numeric_limits<double>::quiet_NaN();

    bool passed() const { return residual_ratio < max_ratio; }
};

}  // namespace bench
