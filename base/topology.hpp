#pragma once

#include <cstddef>
#include <string>

namespace basalt::detail {

/// The environment variables by which hwloc does not look at this machine, for error messages:
/// "; it goes by HWLOC_XMLFILE=lab.xml". Empty where none is set.
std::string hwloc_variables();

/// Cores that this process may use: the affinity mask's, no more than the cgroup's CPU quota. At least 1. The first
/// call of this or one of the functions below throws Error where hwloc cannot read the machine.
int usable_cores();

/// Bytes of memory that this process may use: the machine's, no more than the cgroup's limit.
std::size_t usable_memory();

/// Binds the calling thread to the core that belongs to a worker's place: places beyond the cores share
/// them in turn. Without effect where the system does not allow it.
void bind_this_thread(int place);

/// The processor package (socket) of that core, counted from 0; 0 where the system does not tell.
int package_of(int place);

/// Has pages of the memory that have not been touched yet come from near that package's cores, as far as there is room.
/// Without effect where the system does not allow it.
void keep_near(int package, void* memory, std::size_t bytes);

}  // namespace basalt::detail
