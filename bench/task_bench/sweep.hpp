#pragma once

#include <cstdint>
#include <vector>

#include "bench/task_bench/metg.hpp"
#include "bench/task_bench/task_grid.hpp"

namespace bench {

/// What is measured of each curve's system.
struct Sweep {
    std::vector<std::int64_t> sizes;  ///< iterations of a task's kernel, from large to small
    int rounds = 5;                   ///< each system has a turn in each round; figures are medians
    /// A system sits out the sizes after its efficiency fell below metg_threshold.
    bool ends_below_threshold = true;
};

/// Runs the grid with kernels of each size and adds the points to the curves, rated by rate_curves(). Throws
/// std::runtime_error when a task found wrong inputs.
void measure_curves(const TaskGrid& grid, const Sweep& sweep, std::vector<GridCurve>& curves);

}  // namespace bench
