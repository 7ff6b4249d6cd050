#pragma once

#include <concepts>
#include <optional>

#include <fmt/format.h>

#include "basalt/error.hpp"
#include "basalt/view.hpp"

namespace basalt::detail {

/// Throws UsageError for an option that is given and below `least`.
template <std::integral Number>
void require_at_least(const char* option, std::optional<Number> value, Index least) {
    if (!value || *value >= least) return;
    throw UsageError(
        fmt::format("{} = {}; allowed is at least {}, or nothing: the library chooses", option, *value, least));
}

}  // namespace basalt::detail
