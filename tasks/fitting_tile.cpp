#include <algorithm>

#include "basalt/matrix.hpp"
#include "basalt/tuning.hpp"
#include "runtime/engine.hpp"
#include "tasks/scratch_matrix.hpp"
#include "tiles/grid.hpp"

namespace basalt {

namespace {

/// Rows stay whole cache lines.
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
    const detail::Engine& engine = runtime.engine();
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        if (fits(engine.memory_taken(gpu))) continue;  // the device need not be asked, which takes its time
        const std::size_t memory = engine.memory_of(gpu);
        while (tile.width >= 2 * fitting.narrowest_tile && !fits(memory)) {
            tile = {std::max(tile.height / 2, fitting.narrowest_tile), halved(tile.width)};
        }
    }
    return tile;
}

}  // namespace basalt
