#pragma once

#include <string>

namespace basalt {

/// The state of the runs of one call.
struct RunProgress {
    double done_flops = 0;
    double total_flops = 0;  ///< above 0
    double rate = 0;         ///< flop/s, above 0
};

/// "[####......] 40 %, 12.3 Gflop/s, about 7 s left" in at most `columns` characters: on a narrow terminal the bar is
/// short, and what does not fit next to the percentage is left out.
std::string progress_line(const RunProgress& progress, int columns);

}  // namespace basalt
