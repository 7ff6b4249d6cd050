#include "apps/info/machine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <sys/resource.h>

#include <fmt/format.h>

#include "apps/info/hwloc_topology.hpp"
#include "base/machine.hpp"

namespace basalt {

namespace {

struct BitmapDeleter {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

int count(hwloc_topology_t topology, hwloc_obj_type_t type) {
    return std::max(hwloc_get_nbobjs_by_type(topology, type), 0);
}

std::vector<CacheInfo> caches_of(hwloc_topology_t topology) {
    struct Level {
        hwloc_obj_type_t type;
        const char* name;
    };
    constexpr std::array<Level, 5> levels = {{{HWLOC_OBJ_L1CACHE, "L1d"},
                                              {HWLOC_OBJ_L1ICACHE, "L1i"},
                                              {HWLOC_OBJ_L2CACHE, "L2"},
                                              {HWLOC_OBJ_L3CACHE, "L3"},
                                              {HWLOC_OBJ_L4CACHE, "L4"}}};
    std::vector<CacheInfo> caches;
    for (const auto& level : levels) {
        const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, level.type, 0);
        if (cache != nullptr) caches.push_back({level.name, count(topology, level.type), cache->attr->cache.size});
    }
    return caches;
}

std::vector<NumaInfo> numa_of(hwloc_topology_t topology) {
    std::vector<NumaInfo> nodes;
    for (int i = 0; i < count(topology, HWLOC_OBJ_NUMANODE); ++i) {
        const hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
        nodes.push_back({node->attr->numanode.local_memory, list_of(node->cpuset)});
    }
    return nodes;
}

void read_affinity(hwloc_topology_t topology, MachineInfo& machine) {
    const Bitmap mask(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_PROCESS) != 0) {
        hwloc_bitmap_copy(mask.get(), hwloc_topology_get_allowed_cpuset(topology));
    }
    machine.affinity = list_of(mask.get());
    machine.allowed_threads = hwloc_bitmap_weight(mask.get());
    for (int i = 0; i < machine.cores; ++i) {
        const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
        if (hwloc_bitmap_intersects(core->cpuset, mask.get())) ++machine.allowed_cores;
    }
}

std::vector<std::string> vector_units() {
    std::vector<std::string> units;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) units.emplace_back("AVX2");
    if (__builtin_cpu_supports("avx512f")) units.emplace_back("AVX-512");
#elif defined(__aarch64__)
    units.emplace_back("NEON");
#endif
    return units;
}

std::optional<std::string> frequency_governor() {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    std::string name;
    return in >> name ? std::optional(name) : std::nullopt;
}

std::optional<std::uint64_t> locked_memory_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

std::string hwloc_version() {
    const unsigned version = hwloc_get_api_version();
    return fmt::format("{}.{}.{}", version >> 16, (version >> 8) & 0xff, version & 0xff);
}

}  // namespace

MachineInfo inspect_machine() {
    const Topology topology = load_topology(MachineParts::processors);
    MachineInfo machine;
    machine.cpu_model = cpu_model();
    machine.packages = count(topology.get(), HWLOC_OBJ_PACKAGE);
    machine.cores = count(topology.get(), HWLOC_OBJ_CORE);
    machine.hardware_threads = count(topology.get(), HWLOC_OBJ_PU);
    read_affinity(topology.get(), machine);
    machine.caches = caches_of(topology.get());
    machine.numa = numa_of(topology.get());
    machine.memory_bytes = machine_memory();
    machine.cgroup = read_cgroup_limits();
    machine.locked_memory = locked_memory_limit();
    machine.vector_units = vector_units();
    machine.governor = frequency_governor();
    if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
    machine.hwloc_version = hwloc_version();
    return machine;
}

int usable_cores(const MachineInfo& machine) {
    const int cores = machine.allowed_cores > 0 ? machine.allowed_cores : machine.allowed_threads;
    const int quota = machine.cgroup.cpus ? static_cast<int>(std::ceil(*machine.cgroup.cpus)) : cores;
    return std::max(1, std::min(cores, quota));
}

std::string machine_name(const MachineInfo& machine) {
    return fmt::format("{}, {} cores", machine.cpu_model, usable_cores(machine));
}

}  // namespace basalt
