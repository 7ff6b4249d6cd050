#include "tasks/choices/usual_tile.hpp"

#include <algorithm>

#include "tasks/choices/tuning_entry.hpp"

namespace basalt::detail {

TileShape usual_tile(const Tuning& tuning, Index m, Index n, int gpus, bool on_gpus) {
    const GpuTuning::Lu& lu = tuning.gpu.lu;
    const Index smaller = std::min(m, n);
    if (gpus == 0 || smaller < lu.smallest_order) return entry_for(tuning.cpu.lu.sizes, smaller).tile;
    Index tile = dealt_tile(entry_for(lu.sizes, smaller).tile, lu.deal, n, gpus);
    if (gpus == 1) tile = even_tile(on_gpus ? std::max(tile, lu.resident_tile) : tile, smaller);
    return {tile, tile};
}

}  // namespace basalt::detail
