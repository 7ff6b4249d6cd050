#pragma once

#include "lapack/call.hpp"

namespace basalt::lapack {

/// The memory of a pointer. Asks CUDA's driver, if the process has loaded and initialized it;
/// neither loads the driver nor makes a context. Costs some 0.1 us without a driver.
Memory memory_of(const void* pointer);

}  // namespace basalt::lapack
