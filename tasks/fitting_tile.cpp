#include <algorithm>

#include "basalt/matrix.hpp"
#include "runtime/engine.hpp"
#include "tiles/grid.hpp"

namespace basalt {

TileShape fitting_tile(const Runtime& runtime, TileShape usual, Index m, std::size_t element_size) {
    constexpr Index columns = 4, smallest = 64;
    TileShape tile = usual;
    const auto fits = [&](std::size_t memory) {
        const double column = static_cast<double>(TileGrid(m, tile.width, tile).tile_column_size());
        return columns * column * static_cast<double>(element_size) <= static_cast<double>(memory);
    };
    const detail::Engine& engine = runtime.engine();
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        if (fits(engine.memory_taken(gpu))) continue;  // the device need not be asked, which takes its time
        const std::size_t memory = engine.memory_of(gpu);
        while (tile.width >= 2 * smallest && !fits(memory)) {
            tile = {std::max(tile.height / 2, smallest), tile.width / 2};
        }
    }
    return tile;
}

}  // namespace basalt
