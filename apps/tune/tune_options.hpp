#pragma once

#include <optional>
#include <string>
#include <vector>

#include "basalt/view.hpp"
#include "tuner/sweep.hpp"

namespace basalt {

/// The command line of `basalt tune`.
struct TuneOptions {
    std::vector<tuner::Routine> routines{tuner::Routine::cholesky, tuner::Routine::lu, tuner::Routine::qr};
    std::vector<tuner::Precision> precisions{tuner::Precision::single, tuner::Precision::twice};
    std::vector<int> orders{8, 16, 24, 32, 48, 64, 96, 128, 192, 256};
    Index matrices = 10'000;
    std::optional<Index> budget;  ///< seconds
    tuner::ArithmeticSpace arithmetic = tuner::ArithmeticSpace::ieee;
    std::string journal = "basalt-tune.jsonl";
    std::optional<std::string> out;      ///< the tuning file
    std::optional<std::string> winners;  ///< a journal to read instead of a sweep
    bool dry_run = false;
    bool compile = false;
    std::string architecture = "sm_90";  ///< of a dry run

    /// All that have kernels.
    std::vector<tuner::Problem> problems() const;
};

class OutputFiles;
/// Writes the fastest kernels of each problem of a journal, as lines and as records.
void report_winners(const tuner::JournalContents& journal, OutputFiles& files);

/// The counts of a sweep in one line, ending with "\n".
std::string counts_line(const tuner::SweepCounts& counts);

}  // namespace basalt
