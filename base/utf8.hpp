#pragma once

#include <cstddef>
#include <string_view>

namespace basalt {

/// Length of the well-formed UTF-8 sequence at the begin of `text`, which is not empty; 0 if there is none. Overlong
/// forms, surrogates and numbers above U+10FFFF are not well-formed: readers of JSON refuse them.
std::size_t utf8_length(std::string_view text);

}  // namespace basalt
