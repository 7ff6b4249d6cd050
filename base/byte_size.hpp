#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace basalt {

/// A number of bytes as people write it: a whole number, and after it K, M, G or T (powers of 1024) or nothing,
/// e.g. "512M". Empty for anything else and for what 64 bits cannot hold.
std::optional<std::size_t> parse_byte_size(std::string_view text);

}  // namespace basalt
