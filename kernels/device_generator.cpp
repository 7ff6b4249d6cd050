#include "kernels/device_generator.hpp"

#include <algorithm>
#include <iterator>

namespace basalt {

namespace {

/// In the order of DeviceGenerator.
constexpr std::string_view names[] = {"random", "hpl",       "spd",  "hilbert", "wilkinson",
                                      "graded", "deficient", "zero", "identity"};

}  // namespace

std::optional<DeviceGenerator> find_device_generator(std::string_view name) {
    const auto* const found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names)) return std::nullopt;
    return static_cast<DeviceGenerator>(found - std::begin(names));
}

std::string_view name_of(DeviceGenerator generator) { return names[static_cast<int>(generator)]; }

}  // namespace basalt
