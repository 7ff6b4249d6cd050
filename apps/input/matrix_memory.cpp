#include "apps/input/matrix_memory.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/exit_status.hpp"
#include "base/cgroup.hpp"
#include "base/machine.hpp"

namespace basalt {

namespace {

/// What the kernel expects to be available without swapping.
std::uint64_t machine_available() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("MemAvailable:", 0) == 0) return std::stoull(line.substr(13)) * 1024;
    }
    return machine_memory();
}

std::uint64_t address_space_used() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t pages = 0;
    in >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

double matrix_bytes(Index m, Index n, TileShape tile, std::size_t element_size) {
    const auto padded = [](Index extent, Index tile_extent) {
        const auto unit = static_cast<double>(tile_extent);
        return std::ceil(static_cast<double>(extent) / unit) * unit;
    };
    return padded(m, tile.height) * padded(n, tile.width) * static_cast<double>(element_size);
}

MemoryLimit available_memory() {
    MemoryLimit limit{machine_available(), "the machine's available memory"};
    const auto tighten = [&](std::uint64_t bytes, const char* reason) {
        if (bytes < limit.bytes) limit = {bytes, reason};
    };
    if (const auto left = read_cgroup_limits().memory_left) tighten(*left, "the control group's limit");
    rlimit space{};
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
        const std::uint64_t used = address_space_used();
        tighten(space.rlim_cur > used ? space.rlim_cur - used : 0, "the address space limit (ulimit -v)");
    }
    return limit;
}

void require_memory(double bytes, const std::string& what) {
    const MemoryLimit limit = available_memory();
    spdlog::debug("{} needs {:.0f} bytes, available are {}", what, bytes, limit.bytes);
    if (bytes <= static_cast<double>(limit.bytes)) return;
    throw MachineFailure(fmt::format("{} needs {:.0f} bytes ({:.1f} GiB), available are {} bytes ({:.1f} GiB): {}",
                                     what, bytes, bytes / 0x1p30, limit.bytes,
                                     static_cast<double>(limit.bytes) / 0x1p30, limit.reason));
}

}  // namespace basalt
