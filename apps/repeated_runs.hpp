#pragma once

#include <functional>

#include "basalt/runtime.hpp"

namespace basalt {

/// What one call of a subcommand runs --repeat times.
struct RepeatedRun {
    double flops = 0;            ///< operations of one run
    double rate = 0;             ///< flop/s to expect of the first run, for the progress bar
    std::function<void()> once;  ///< one run
    std::function<void()> tell;  ///< says how it went
};

/// Runs it so many times, or until Ctrl-C, which cancels what `runtime` has in flight; shows progress on a terminal.
/// Returns how many runs were completed.
Index run_repeatedly(Runtime& runtime, Index repeat, const RepeatedRun& run);

/// Throws Interrupted unless all of the runs were completed.
void require_completed(Index runs, Index repeat);

}  // namespace basalt
