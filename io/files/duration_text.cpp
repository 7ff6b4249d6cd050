#include "io/files/duration_text.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace basalt {

std::string duration_text(double nanoseconds) {
    constexpr std::array<const char*, 4> units = {"ns", "us", "ms", "s"};
    std::size_t unit = 0;
    // A value that would be rounded to 1000 gets the next unit.
    while (unit + 1 < units.size() && std::abs(nanoseconds) >= 999.95) {
        nanoseconds /= 1000;
        ++unit;
    }
    return fmt::format("{:.4g} {}", nanoseconds, units[unit]);
}

std::string duration_text(std::int64_t nanoseconds) { return duration_text(static_cast<double>(nanoseconds)); }

}  // namespace basalt
