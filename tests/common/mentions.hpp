#pragma once

#include <string>

namespace basalt_tests {

/// What the call throws says.
template <class Error, class Call>
std::string error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

/// Whether the text contains the part (a matcher for it has different names in Catch2 2 and 3).
inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace basalt_tests
