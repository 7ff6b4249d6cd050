#pragma once

#include <string>
#include <string_view>

namespace basalt {

/// Puts `text` in the place of the file `path` at once: readers find the old contents or the new ones, never a part,
/// and of several writers the last one wins. Missing folders are made. Throws std::runtime_error naming the file where
/// it cannot be written; the old contents are there then.
void write_file_atomically(const std::string& path, std::string_view text);

}  // namespace basalt
