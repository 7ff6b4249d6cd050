#pragma once

#include <cstdint>
#include <string>

namespace basalt {

/// The processor's model; "unknown CPU" where the system does not tell.
std::string cpu_model();

/// Bytes of memory that the machine has, whether this process may use them or not.
std::uint64_t machine_memory();

}  // namespace basalt
