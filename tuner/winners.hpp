#pragma once

#include <optional>
#include <string>
#include <vector>

#include <basalt/tuning.hpp>

#include "tuner/journal.hpp"

namespace basalt::tuner {

/// The fastest kernels of a problem, with IEEE arithmetic.
struct Winner {
    Finding best;
    std::vector<Finding> close;         ///< within 2 % of it, itself first
    std::optional<Finding> of_library;  ///< the fastest of those that the library has
};
inline constexpr double close_factor = 1.02;  ///< of seconds

/// Of each problem that has a timed kernel, in the order in which the journal names them first.
std::vector<Winner> winners(const JournalContents& journal);

/// Writes the widths of the library's fastest kernels into the lists of an entry that were measured. Orders between two
/// that were measured get the width of the nearest. Kernels in lanes have no panels.
void set_widths(const std::vector<Winner>& winners, GpuTuning& entry);

/// The text of a tuning file with the widths of an entry, and nothing else of it: all other numbers stay those of the
/// library that reads it.
std::string width_file(const GpuTuning& entry);

}  // namespace basalt::tuner
