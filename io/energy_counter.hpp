#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace basalt {

/// What counts the energy of one part of the machine, from some moment in the past on.
struct EnergyCounter {
    std::string name;  ///< of the part: "gpu 0", "cpu package 0"
    /// Microjoules so far. Throws std::runtime_error with the reason where it cannot be read.
    std::function<std::uint64_t()> read;
    std::uint64_t range = 0;  ///< microjoules at which it starts again from 0; 0: it never does
};

/// A part of the machine whose energy nobody counts, and why not.
struct UncountedPart {
    std::string name;
    std::string reason;
};

struct EnergyCounters {
    std::vector<EnergyCounter> counters;
    std::vector<UncountedPart> uncounted;

    /// Takes the counter, if it can be read now; otherwise its part is uncounted.
    void add(EnergyCounter counter);
};

}  // namespace basalt
