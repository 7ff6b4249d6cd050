#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace basalt {

/// Which files read_small_file() reads.
enum class FileKind {
    any,      ///< also pipes and devices
    regular,  ///< nothing else, under links
};

/// The contents of a file, nullopt where there is none. Throws std::runtime_error with the reason, without the path,
/// where it cannot be read, is not of that kind or has more than `most` bytes; reads no more than that. Does not wait
/// for a writer of a named pipe if the kind is regular.
std::optional<std::string> read_small_file(const std::string& path, std::size_t most, FileKind kind);

}  // namespace basalt
