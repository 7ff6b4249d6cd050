#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace basalt {

/// What the control groups of this process, and those around them, leave it. Empty: no limit.
struct CgroupLimits {
    std::optional<double> cpus;                 ///< CPU quota, in cores
    std::optional<std::uint64_t> memory_bytes;  ///< the tightest limit on memory
    std::optional<std::uint64_t> memory_left;   ///< the least that any of the limits leaves
    std::optional<std::uint64_t> threads;       ///< the smallest limit on processes and threads together
};

/// Reads version 2 and version 1 groups. `root` stands for "/", so that tests can bring their own files.
CgroupLimits read_cgroup_limits(const std::string& root = "/");

}  // namespace basalt
