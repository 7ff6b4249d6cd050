#pragma once

#include <optional>
#include <string>

namespace basalt_tests {

/// An option for a message: its number, or that the library chooses it.
template <class Number>
std::string shown(const std::optional<Number>& option) {
    return option ? std::to_string(*option) : "chosen";
}

/// Nothing for a number below `least`.
template <class Number>
std::optional<Number> at_least(Number least, Number number) {
    return number < least ? std::nullopt : std::optional(number);
}

}  // namespace basalt_tests
