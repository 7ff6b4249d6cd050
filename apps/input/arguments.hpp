#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/tile_shape.hpp"
#include "basalt/view.hpp"

namespace basalt {

// Values as users write them on the command line or in the environment. `name` is the option or the variable, e.g.
// "--nb" or "BASALT_NB". Every function throws WrongUse with the name, the value and the allowed values.

/// An integer from `low` to `high`, both included. `note` is appended to the allowed values.
Index parse_integer(std::string_view name, std::string_view text, Index low, Index high, std::string_view note = {});

/// A seed: any integer from 0 to 2^64 - 1.
std::uint64_t parse_seed(std::string_view name, std::string_view text);

/// One of `choices`.
std::string parse_choice(std::string_view name, std::string_view text, const std::vector<std::string>& choices);

/// "auto", which gives 0 x 0, or "HEIGHTxWIDTH" with both from 1 to `high`.
TileShape parse_tile(std::string_view name, std::string_view text, Index high);

/// Bytes: a whole number, optionally followed by K, M, G or T (powers of 1024). `note` is appended to the allowed
/// values.
std::size_t parse_bytes(std::string_view name, std::string_view text, std::string_view note = {});

/// "a, b, c"
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace basalt
