#pragma once

#include <string>
#include <string_view>

namespace basalt {

/// Text of a file as a message may show it: in double quotes, unprintable bytes escaped, cut where it is long.
std::string quoted_text(std::string_view text);

}  // namespace basalt
