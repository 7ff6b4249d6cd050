#pragma once

#include <functional>
#include <string>
#include <vector>

#include "basalt/runtime.hpp"

namespace basalt {

/// The work that one call of a subcommand repeats --repeat times.
struct RepeatedRun {
    double flops = 0;            ///< operations of one run
    double rate = 0;             ///< expected flop/s of the first run, for the progress bar
    std::function<void()> once;  ///< one run
    std::function<void()> tell;  ///< prints the result of the last run
};

/// Runs it `repeat` times, or until Ctrl-C, which cancels the tasks of `runtime` that have not started. Shows progress
/// on a terminal. Returns the number of completed runs.
Index run_repeatedly(Runtime& runtime, Index repeat, const RepeatedRun& run);

/// "WHAT  median of 3 runs  0.0123 s  45.67 Gflop/s" with an end of line, for runs of `flops` operations each.
std::string median_line(const std::string& what, const std::vector<double>& seconds, double flops);

/// Runs `work` to its end, or until Ctrl-C, which cancels the tasks of `runtime` that have not started.
/// Interrupt::requested() tells.
void until_interrupted(Runtime& runtime, const std::function<void()>& work);

/// Throws Interrupted unless all runs were completed.
void require_completed(Index runs, Index repeat);

}  // namespace basalt
