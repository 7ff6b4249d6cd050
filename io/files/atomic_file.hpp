#pragma once

#include <string>
#include <string_view>

namespace basalt {

/// Replaces the contents of the file `path` by `text` in one step: readers find the old contents or the new ones, never
/// a part, and of several writers the last one wins. Makes the file if it is not there, but no folders. Follows
/// symbolic links. Throws std::runtime_error with the file's name and the reason where it cannot be written or is not a
/// regular file; the old contents remain then.
void write_file_atomically(const std::string& path, std::string_view text);

}  // namespace basalt
