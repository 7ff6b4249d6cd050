#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <basalt/view.hpp>

namespace basalt {

/// The generators that a device has too: those whose elements follow from their position and a few numbers.
enum class DeviceGenerator : std::uint8_t {
    random,
    hpl,
    spd,
    hilbert,
    wilkinson,
    graded,
    deficient,
    zero,
    identity,
};

/// The one that make_generator() knows by that name; nothing where a device does not have it.
std::optional<DeviceGenerator> find_device_generator(std::string_view name);

std::string_view name_of(DeviceGenerator generator);

/// The arguments of make_generator().
struct GeneratorSpec {
    DeviceGenerator generator = DeviceGenerator::random;
    Index rows = 0;
    Index cols = 0;
    std::uint64_t seed = 0;
};

}  // namespace basalt
