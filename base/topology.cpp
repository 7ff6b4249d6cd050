#include "base/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

#include "basalt/error.hpp"
#include "base/cgroup.hpp"
#include "base/machine.hpp"

namespace basalt::detail {

namespace {

/// The machine as far as this process may use it, read once.
class Machine {
  public:
    static const Machine& instance() {
        static const Machine* const machine = new Machine;  // never destroyed: threads may bind until the end
        return *machine;
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    const std::vector<hwloc_cpuset_t>& cores() const { return cores_; }
    /// Numbers beyond the cores, of which there are some, go round.
    hwloc_cpuset_t core(int number) const { return cores_[static_cast<std::size_t>(number) % cores_.size()]; }
    hwloc_topology_t topology() const { return topology_; }

  private:
    Machine() {
        // load leaves out what the cgroup's cpuset forbids
        if (hwloc_topology_init(&topology_) != 0 || hwloc_topology_load(topology_) != 0) {
            throw Error("hwloc cannot read the machine" + hwloc_variables());
        }
        hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
        if (hwloc_get_cpubind(topology_, allowed, HWLOC_CPUBIND_PROCESS) != 0) {
            hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology_));
        }
        const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE);
        for (int i = 0; i < count; ++i) {
            add_core(hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, static_cast<unsigned>(i))->cpuset, allowed);
        }
        if (cores_.empty()) {  // a machine that does not tell its cores: take the processing units
            int cpu = -1;
            while ((cpu = hwloc_bitmap_next(allowed, cpu)) >= 0) {
                hwloc_cpuset_t one = hwloc_bitmap_alloc();
                hwloc_bitmap_only(one, static_cast<unsigned>(cpu));
                cores_.push_back(one);
            }
        }
        hwloc_bitmap_free(allowed);
    }

    // One worker a core: of a core's hardware threads the first allowed one.
    void add_core(hwloc_const_cpuset_t core, hwloc_const_cpuset_t allowed) {
        hwloc_cpuset_t usable = hwloc_bitmap_alloc();
        hwloc_bitmap_and(usable, core, allowed);
        hwloc_bitmap_singlify(usable);
        if (hwloc_bitmap_iszero(usable)) {
            hwloc_bitmap_free(usable);
        } else {
            cores_.push_back(usable);
        }
    }

    hwloc_topology_t topology_ = nullptr;
    std::vector<hwloc_cpuset_t> cores_;
};

}  // namespace

std::string hwloc_variables() {
    std::string text;
    for (const char* const name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_COMPONENTS"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr) text += std::string(text.empty() ? "; it goes by " : ", ") + name + "=" + value;
    }
    return text;
}

int usable_cores() {
    int cores = std::max(1, static_cast<int>(Machine::instance().cores().size()));
    if (const auto quota = read_cgroup_limits().cpus)
        cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(*quota))));
    return cores;
}

std::size_t usable_memory() {
    const std::uint64_t all = machine_memory();
    return std::min(all, read_cgroup_limits().memory_bytes.value_or(all));
}

int core_count() { return static_cast<int>(Machine::instance().cores().size()); }

std::optional<int> processor_of(int core) {
    const Machine& machine = Machine::instance();
    if (hwloc_topology_is_thissystem(machine.topology()) == 0 || machine.cores().empty()) return std::nullopt;
    return hwloc_bitmap_first(machine.core(core));
}

void bind_this_thread(int core) {
    const Machine& machine = Machine::instance();
    if (machine.cores().empty()) return;
    hwloc_set_cpubind(machine.topology(), machine.core(core), HWLOC_CPUBIND_THREAD);
}

std::vector<std::uint64_t> path_to(int core) {
    const Machine& machine = Machine::instance();
    std::vector<std::uint64_t> path;
    if (machine.cores().empty()) return path;
    hwloc_obj_t part = hwloc_get_obj_covering_cpuset(machine.topology(), machine.core(core));
    for (; part != nullptr; part = part->parent) path.push_back(part->gp_index);
    std::reverse(path.begin(), path.end());
    return path;
}

int package_of(int core) {
    const Machine& machine = Machine::instance();
    if (machine.cores().empty()) return 0;
    const hwloc_obj_t package =
        hwloc_get_next_obj_covering_cpuset_by_type(machine.topology(), machine.core(core), HWLOC_OBJ_PACKAGE, nullptr);
    return package != nullptr ? static_cast<int>(package->logical_index) : 0;
}

void keep_near(int package, void* memory, std::size_t bytes) {
    const hwloc_topology_t topology = Machine::instance().topology();
    const hwloc_obj_t found = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, static_cast<unsigned>(package));
    if (found == nullptr || bytes == 0) return;
    hwloc_set_area_membind(topology, memory, bytes, found->cpuset, HWLOC_MEMBIND_BIND, 0);
}

}  // namespace basalt::detail

namespace basalt {

std::string cpu_model() {
    const hwloc_topology_t topology = detail::Machine::instance().topology();
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char* model = package != nullptr ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
    if (model == nullptr) model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "CPUModel");
    return model != nullptr ? model : "unknown CPU";
}

std::uint64_t machine_memory() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace basalt
