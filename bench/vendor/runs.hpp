#pragma once

#include <functional>
#include <string>
#include <vector>

#include <basalt/view.hpp>

#include "bench/versus/our_runs.hpp"

namespace bench {

/// The GPU vendor's library that ours is compared with.
enum class GpuVendor { none, cusolver, cusolvermg };

/// One run of cuSOLVERMg; the ratio is NaN unless INFO is 0.
struct VendorRun {
    double seconds;
    double residual_ratio;
};

/// The runs of the vendor's library; none if it was left out.
struct VendorRuns {
    GpuVendor vendor = GpuVendor::none;
    int gpus = 1;
    std::vector<double> seconds;  ///< of the rounds that count
    // of cuSOLVERMg only
    std::vector<basalt::Index> blocks;  ///< candidates for the columns of a dealt block; empty: no such routine
    basalt::Index block = 0;            ///< the chosen candidate
    double residual_ratio = 0;          ///< defined as ours, the worst of the rounds that count; NaN is the worst

    /// The warm-up: runs once with each of the blocks, after a first run that is slow and does not count. Chooses the
    /// fastest block whose factors pass, or the fastest one if none passes. Skips blocks that the vendor refuses, with
    /// a note on stderr; rethrows its std::runtime_error if it refuses all of them.
    void choose_block(const std::function<VendorRun(basalt::Index)>& run);
    void add(const VendorRun& run);
    bool passed() const { return vendor != GpuVendor::cusolvermg || residual_ratio < max_ratio; }
    /// The end of a line of the table: the chosen block and the result of its check.
    std::string verdict() const;
};

}  // namespace bench
