#pragma once

#include <cstdint>
#include <string>

namespace basalt {

/// A duration with four digits and a suitable unit: "17 ns", "1.234 us", "12.34 ms", "123.4 s".
std::string duration_text(std::int64_t nanoseconds);
std::string duration_text(double nanoseconds);

}  // namespace basalt
