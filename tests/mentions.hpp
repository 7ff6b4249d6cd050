#pragma once

#include <string>

namespace basalt_tests {

/// Whether the text contains the part (a matcher for it has different names in Catch2 2 and 3).
inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace basalt_tests
