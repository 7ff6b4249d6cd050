#pragma once

#include <functional>
#include <string>
#include <vector>

#include <basalt/view.hpp>

#include "bench/our_runs.hpp"

namespace bench {

/// Which of the GPU vendor's libraries is beside ours.
enum class GpuVendor { none, cusolver, cusolvermg };

/// One run of cuSOLVERMg; the ratio is NaN where INFO is not 0.
struct VendorRun {
    double seconds;
    double residual_ratio;
};

/// What the vendor did, or that it was left out.
struct VendorRuns {
    GpuVendor vendor = GpuVendor::none;
    int gpus = 1;
    std::vector<double> seconds;  ///< of the rounds that count
    // cuSOLVERMg's alone
    std::vector<basalt::Index> blocks;  ///< columns of a block dealt to a GPU, to choose from; none: no such routine
    basalt::Index block = 0;            ///< the chosen one
    double residual_ratio = 0;          ///< as ours has it, the worst of the rounds that count; NaN counts as worst

    /// The warm-up: runs with each of the blocks, after one that does not count since what comes first is slow. The
    /// fastest whose factors pass is chosen, or the fastest. Those that the vendor refuses are left out, with a note on
    /// stderr; throws its std::runtime_error where it refuses all.
    void choose_block(const std::function<VendorRun(basalt::Index)>& run);
    void add(const VendorRun& run);
    bool passed() const { return vendor != GpuVendor::cusolvermg || residual_ratio < max_ratio; }
    /// The end of a line of the table, of what was chosen and checked.
    std::string verdict() const;
};

}  // namespace bench
