#pragma once

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Bytes of the line that starts with `key` ("VmRSS", "VmHWM") in /proc/self/status; 0 where there is none.
double status_bytes(const std::string& key);

/// Runs this program in a process of its own with these arguments and returns the number that it prints; none if that
/// fails.
std::optional<double> number_from_self(const std::vector<std::string>& arguments);

}  // namespace bench
