#include "tasks/choices/usual_tile.hpp"

#include <algorithm>

#include "tasks/choices/tuning_entry.hpp"

namespace basalt::detail {

TileShape table_tile(const Tuning& tuning, Index m, Index n, int gpus) {
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    const Index smaller = std::min(m, n);
    if (gpus == 0 || smaller < lu.smallest_order) return entry_for(tuning.cpu.lu.sizes, smaller).tile;
    const Index tile = dealt_tile(entry_for(lu.sizes, smaller).tile, lu.deal, n, gpus);
    return {tile, tile};
}

TileShape usual_tile(const Tuning& tuning, Index m, Index n, int gpus, bool resident) {
    const TileShape tile = table_tile(tuning, m, n, gpus);
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    const Index smaller = std::min(m, n);
    if (gpus != 1 || smaller < lu.smallest_order) return tile;
    const bool wide = resident && std::max(m, n) <= lu.resident.up_to;
    const Index about = wide ? std::max(tile.width, lu.resident.tile) : tile.width;
    return {even_tile(about, m), even_tile(about, n)};
}

}  // namespace basalt::detail
