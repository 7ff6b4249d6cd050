#pragma once

#include <string>

#include "basalt/error.hpp"

namespace basalt::detail {

/// Throws UsageError with the message unless the condition holds.
inline void require(bool condition, const std::string& message) {
    if (!condition) throw UsageError(message);
}

}  // namespace basalt::detail
