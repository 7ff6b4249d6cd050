#pragma once

#include <fstream>
#include <string>

namespace basalt {

/// Opens `path` for reading. If it is a folder or cannot be opened, throws WrongUse with the path, the reason and
/// `allowed`.
std::ifstream open_input(const std::string& path, const std::string& allowed);

}  // namespace basalt
