#pragma once

#include <cstdint>

namespace basalt {

/// How a panel is factored on a GPU. All give the same pivots and, up to rounding, the same factors.
enum class GpuPanelDesign : std::uint8_t {
    cluster,  ///< one kernel of up to 16 thread blocks, which exchange candidates in distributed shared memory
    grid,     ///< the same kernel with any number of thread blocks, which exchange them in the device's memory
    fused,    ///< one kernel per block of columns, one thread block per column: Abdelfattah et al., the fused design
    steps,    ///< kernels for each step of a column (search, exchange, scale and rank-1 update); any height
};

}  // namespace basalt
