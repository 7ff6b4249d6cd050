#pragma once

#include <cstdint>

namespace basalt {

/// How a panel is factored on a GPU. All give the same pivots and, up to rounding, the same factors.
enum class GpuPanelDesign : std::uint8_t {
    cluster,  ///< one kernel of up to 16 blocks, which exchange candidates through distributed shared memory
    grid,     ///< the same kernel on any number of blocks, which exchange them through the device's memory
    fused,    ///< a kernel for each block of columns, one column to a block: Abdelfattah et al., the fused design
    steps,    ///< kernels for each step of a column (search, exchange, scale and rank-1 update); any height
};

}  // namespace basalt
