#pragma once

#include <basalt/basalt.h>

#include <array>
#include <cstddef>
#include <vector>

#include "basalt/access.hpp"
#include "capi/kernels.hpp"

namespace basalt::capi {

/// The accesses of a task, sorted by mode: submit() takes one range for each. Regions are of bytes.
struct SortedAccesses {
    std::array<std::vector<Region<std::byte>>, 4> regions;  ///< by basalt_access_mode
    std::vector<ViewPlace> views;                           ///< in the order of the accesses
};

/// Throws UsageError for accesses that are not allowed.
SortedAccesses sorted_accesses(const basalt_task& task);

}  // namespace basalt::capi
