#include <algorithm>

#include "basalt/matrix.hpp"
#include "basalt/tuning.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/on_gpus/scratch_matrix.hpp"
#include "tiles/grid.hpp"

namespace basalt {

namespace {

/// Half of a width, in whole cache lines.
Index halved(Index width) {
    constexpr Index line = 16;
    return width < 2 * line ? width / 2 : detail::ceil_div(width / 2, line) * line;
}

}  // namespace

TileShape fitting_tile(const Runtime& runtime, TileShape usual, Index m, Index n, std::size_t element_size) {
    const GpuFitting& fitting = runtime.tuning().gpu.fitting;
    TileShape tile = usual;
    const auto fits = [&](std::size_t memory) {
        const TileGrid grid(m, n, tile);
        const Index share = (grid.tile_cols() + runtime.gpus() - 1) / runtime.gpus();
        const double columns = static_cast<double>(std::max(std::min(share, fitting.enough), fitting.fewest));
        const double column = static_cast<double>(grid.padded_rows()) * static_cast<double>(tile.width);
        return columns * column * static_cast<double>(element_size) <= static_cast<double>(memory);
    };
    const detail::GpuMemory& gpus = detail::gpu_memory(runtime);
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        if (fits(gpus.taken(gpu))) continue;  // without asking the device, which takes long
        const std::size_t memory = gpus.capacity(gpu);
        while (tile.width >= 2 * fitting.narrowest_tile && !fits(memory)) {
            tile = {std::max(tile.height / 2, fitting.narrowest_tile), halved(tile.width)};
        }
    }
    return tile;
}

}  // namespace basalt
