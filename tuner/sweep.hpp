#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/gpu.hpp"
#include "tuner/journal.hpp"
#include "tuner/space.hpp"

namespace basalt::tuner {

/// What became of all candidates of a sweep; in the order of the steps.
struct SweepCounts {
    int generated = 0;
    int pruned = 0;    ///< before compilation
    int compiled = 0;  ///< successfully, also those that spill
    int not_compiled = 0;
    int spilled = 0;  ///< not launched for that
    int launched = 0;
    int not_launched = 0;
    int wrong = 0;
    int timed = 0;

    int done() const { return not_compiled + spilled + not_launched + wrong + timed; }
    int remaining() const { return generated - pruned - done(); }
};

struct SweepOptions {
    std::vector<Problem> problems;
    ArithmeticSpace arithmetic = ArithmeticSpace::ieee;
    int compiler_threads = 1;
    /// Asked between candidates: false ends the sweep early.
    std::function<bool()> goes_on = [] { return true; };
    /// Called after each candidate and each problem.
    std::function<void(const Problem&, const SweepCounts&)> progress = [](const Problem&, const SweepCounts&) {};
};

/// Compiles the candidates of all problems in several threads, a program once for all problems that share it, and
/// meanwhile checks and times them one after the other. Candidates in the journal are not tried again, and what is
/// found is added to it. Returns the counts with those of the journal. Throws GpuLost.
SweepCounts sweep(TunedGpu& gpu, Compiler& compiler, Journal& journal, const SweepOptions& options);

/// The same without a GPU, and without a journal: the counts up to compilation. `compiler` may be nullptr: then they
/// end before it.
SweepCounts sweep_without_gpu(const GpuLimits& limits, Compiler* compiler, const SweepOptions& options);

}  // namespace basalt::tuner
