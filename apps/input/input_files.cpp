#include "apps/input/input_files.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

std::ifstream open_input(const std::string& path, const std::string& allowed) {
    // A folder can be opened, and reads like an empty file.
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        throw WrongUse(fmt::format("{}: is a folder; allowed: {}", path, allowed));
    std::ifstream in(path, std::ios::binary);
    if (in) return in;
    throw WrongUse(fmt::format("{}: {}; allowed: {}", path, std::generic_category().message(errno), allowed));
}

}  // namespace basalt
