#pragma once

#include <fmt/format.h>

#include "basalt/error.hpp"
#include "basalt/view.hpp"

namespace basalt::detail {

/// Throws UsageError for a number below `special`, the one that stands for something else (`meaning`) than itself.
inline void require_from(const char* option, Index value, Index special, const char* meaning = "chosen") {
    if (value >= special) return;
    throw UsageError(
        fmt::format("{} = {}; allowed is {} ({}) or at least {}", option, value, special, meaning, special + 1));
}

}  // namespace basalt::detail
