#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Efficiency at which a granularity still counts as effective.
inline constexpr double metg_threshold = 0.5;

/// A grid run by one system with kernels of one size: medians over the rounds.
struct GridPoint {
    std::int64_t iterations;   ///< of each task's kernel
    double granularity_ns;     ///< threads * time / tasks
    double iterations_per_ns;  ///< all tasks' iterations / time
    double efficiency = 0;     ///< that rate over the best one; see rate_curves()
};

/// What one system reached, from large tasks to small ones.
struct GridCurve {
    std::string system;
    int workers;
    std::vector<GridPoint> points = {};
    /// The minimum effective task granularity: the smallest one at which the efficiency is at least one half, linear
    /// between the last point above and the first one below. None where all points lie on one side.
    std::optional<double> metg_ns = {};
};

/// Fills in efficiencies and METG. The best rate is that of any system and size with the same number of threads.
void rate_curves(std::vector<GridCurve>& curves);

}  // namespace bench
