#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace basalt {

/// A counter of the energy of one part of the machine, which began at some moment in the past.
struct EnergyCounter {
    std::string name;  ///< of the part: "gpu 0", "cpu package 0"
    /// Microjoules so far. Throws std::runtime_error with the reason if the counter cannot be read.
    std::function<std::uint64_t()> read;
    std::uint64_t range = 0;  ///< microjoules after which it starts again at 0; 0: it never does
};

/// A part of the machine whose energy cannot be counted, with the reason.
struct UncountedPart {
    std::string name;
    std::string reason;
};

struct EnergyCounters {
    std::vector<EnergyCounter> counters;
    std::vector<UncountedPart> uncounted;

    /// Adds the counter if it can be read now; otherwise adds its part to those that are not counted.
    void add(EnergyCounter counter);
};

}  // namespace basalt
