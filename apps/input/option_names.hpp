#pragma once

#include <string>

#include "apps/input/settings.hpp"

namespace basalt {

/// A message of the library in the words of the command line: "LuOptions::lookahead = 2" and "lookahead = 2" become
/// "--lookahead = 2", or "BASALT_LOOKAHEAD = 2" where the environment said so.
std::string in_terms_of_options(const std::string& message, const Settings& settings);

}  // namespace basalt
