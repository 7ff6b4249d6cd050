#include "io/energy/rapl.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace basalt {

namespace {

namespace fs = std::filesystem;

template <class T>
T read_value(const fs::path& file) {
    errno = 0;
    std::ifstream in(file);
    T value{};
    if (in >> value) return value;
    throw std::runtime_error(file.string() + ": " +
                             (errno != 0 ? std::generic_category().message(errno) : "not what a counter's file holds"));
}

/// Zones of whole packages begin with "intel-rapl:N"; "intel-rapl:N:M" are parts of them, "psys" is the whole board.
bool is_package(const fs::path& zone) {
    const std::string id = zone.filename();
    if (!id.starts_with("intel-rapl:") || std::count(id.begin(), id.end(), ':') != 1) return false;
    try {
        return read_value<std::string>(zone / "name").starts_with("package");
    } catch (const std::runtime_error&) {
        return false;
    }
}

std::vector<fs::path> package_zones(const fs::path& powercap) {
    std::vector<fs::path> zones;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(powercap, none)) {
        if (is_package(entry.path())) zones.push_back(entry.path());
    }
    std::sort(zones.begin(), zones.end());
    return zones;
}

/// "cpu package 0" of "package-0", "cpu package 0-die-1" of "package-0-die-1".
std::string part_name(const fs::path& zone) {
    std::string name = "cpu " + read_value<std::string>(zone / "name");
    if (const auto dash = name.find('-'); dash != std::string::npos) name[dash] = ' ';
    return name;
}

}  // namespace

void add_rapl_counters(EnergyCounters& found, const fs::path& powercap) {
    const std::vector<fs::path> zones = package_zones(powercap);
    if (zones.empty()) found.uncounted.push_back({"cpu", "no package with RAPL in " + powercap.string()});
    for (const fs::path& zone : zones) {
        const std::string name = part_name(zone);
        try {
            found.add({name, [file = zone / "energy_uj"] { return read_value<std::uint64_t>(file); },
                       read_value<std::uint64_t>(zone / "max_energy_range_uj")});
        } catch (const std::runtime_error& error) {
            found.uncounted.push_back({name, error.what()});
        }
    }
}

}  // namespace basalt
