#pragma once

#include <fstream>
#include <string>

namespace basalt {

/// Opens `path` for reading. Throws WrongUse that names the path, the reason and `allowed` where it is a folder or
/// cannot be opened.
std::ifstream open_input(const std::string& path, const std::string& allowed);

}  // namespace basalt
