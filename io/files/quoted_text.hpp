#pragma once

#include <string>
#include <string_view>

namespace basalt {

/// Text of a file for a message: in double quotes, with unprintable bytes escaped, at most 40 bytes of it.
std::string quoted_text(std::string_view text);

/// Text for a message, at most 100 bytes of it.
std::string cut_text(std::string_view text);

}  // namespace basalt
