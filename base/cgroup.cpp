#include "base/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace basalt {

namespace {

/// "max" and version 1's "about 2^63" both mean that there is no limit.
constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;

std::optional<std::uint64_t> read_limit(const std::string& path) {
    std::ifstream in(path);
    std::uint64_t value = 0;
    if (!(in >> value) || value >= no_limit) return std::nullopt;
    return value;
}

template <class T>
void keep_least(std::optional<T>& kept, T value) {
    kept = kept ? std::min(*kept, value) : value;
}

/// Page cache counts as used but goes when memory is needed.
std::uint64_t reclaimable(const std::string& group) {
    std::ifstream in(group + "/memory.stat");
    std::string name;
    for (std::uint64_t value = 0; in >> name >> value;) {
        if (name == "inactive_file" || name == "total_inactive_file") return value;
    }
    return 0;
}

void apply_memory(const std::string& group, const char* limit_file, const char* usage_file, CgroupLimits& limits) {
    const auto limit = read_limit(group + "/" + limit_file);
    if (!limit) return;
    const std::uint64_t usage = read_limit(group + "/" + usage_file).value_or(0);
    const std::uint64_t used = usage - std::min(usage, reclaimable(group));
    keep_least(limits.memory_bytes, *limit);
    keep_least(limits.memory_left, *limit - std::min(*limit, used));
}

void apply_quota(double quota, double period, CgroupLimits& limits) {
    if (quota > 0 && period > 0) keep_least(limits.cpus, quota / period);
}

void apply_threads(const std::string& group, CgroupLimits& limits) {
    if (const auto limit = read_limit(group + "/pids.max")) keep_least(limits.threads, *limit);
}

void apply_version2(const std::string& group, CgroupLimits& limits) {
    apply_threads(group, limits);
    apply_memory(group, "memory.max", "memory.current", limits);
    std::ifstream in(group + "/cpu.max");
    double quota = 0;
    double period = 0;
    if (in >> quota >> period) apply_quota(quota, period, limits);
}

void apply_version1(const std::string& group, CgroupLimits& limits) {
    apply_threads(group, limits);
    apply_memory(group, "memory.limit_in_bytes", "memory.usage_in_bytes", limits);
    double quota = 0;
    double period = 0;
    if (std::ifstream(group + "/cpu.cfs_quota_us") >> quota && std::ifstream(group + "/cpu.cfs_period_us") >> period) {
        apply_quota(quota, period, limits);
    }
}

/// Calls apply for `mount` + `path` and every group around it: a limit binds all groups inside.
template <class Apply>
void walk_up(const std::string& mount, std::string path, const Apply& apply) {
    while (!path.empty() && path != "/") {
        apply(mount + path);
        const auto slash = path.rfind('/');
        path.resize(slash == path.npos ? 0 : slash);
    }
    apply(mount);
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& root) {
    CgroupLimits limits;
    std::ifstream in(root + "proc/self/cgroup");
    const std::string mounts = root + "sys/fs/cgroup";
    for (std::string line; std::getline(in, line);) {
        // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string path = line.substr(second + 1);
        if (second == first + 1) {
            walk_up(mounts, path, [&](const std::string& group) { apply_version2(group, limits); });
            continue;
        }
        std::istringstream controllers(line.substr(first + 1, second - first - 1));
        for (std::string controller; std::getline(controllers, controller, ',');) {
            if (controller != "memory" && controller != "cpu" && controller != "pids") continue;
            walk_up(std::string(mounts).append("/").append(controller), path,
                    [&](const std::string& group) { apply_version1(group, limits); });
        }
    }
    return limits;
}

}  // namespace basalt
