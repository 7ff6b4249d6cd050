#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace basalt::detail {

/// The environment variables by which hwloc does not look at this machine, for error messages:
/// "; it goes by HWLOC_XMLFILE=lab.xml". Empty where none is set.
std::string hwloc_variables();

/// Cores that this process may use: the affinity mask's, no more than the cgroup's CPU quota. At least 1. The first
/// call of this or one of the functions below throws Error where hwloc cannot read the machine.
int usable_cores();

/// Bytes of memory that this process may use: the machine's, no more than the cgroup's limit.
std::size_t usable_memory();

/// Cores that the affinity mask leaves, which are numbered from 0 in what follows; 0 where the system does not tell.
int core_count();

/// The system's number of the processor that stands for the core; empty where hwloc does not look at this machine.
std::optional<int> processor_of(int core);

/// Binds the calling thread to a core; numbers beyond the cores go round. Without effect where the system does not
/// allow it.
void bind_this_thread(int core);

/// The parts of the machine around that core, from the whole machine to the core: packages, parts with a NUMA node of
/// their own, caches. Each has its number. Empty where the system does not tell.
std::vector<std::uint64_t> path_to(int core);

/// The processor package (socket) of that core, counted from 0; 0 where the system does not tell.
int package_of(int core);

/// Has pages of the memory that have not been touched yet come from near that package's cores, as far as there is room.
/// Without effect where the system does not allow it.
void keep_near(int package, void* memory, std::size_t bytes);

}  // namespace basalt::detail
