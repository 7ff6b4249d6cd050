#pragma once

#include <algorithm>
#include <vector>

#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

namespace basalt::detail {

/// The entry of a tuning table's list by size: the first one that reaches up to it, or the last.
template <class Entry>
const Entry& entry_for(const std::vector<Entry>& entries, Index size) {
    const auto reaches = [size](const Entry& entry) { return size <= entry.up_to; };
    const auto found = std::find_if(entries.begin(), entries.end(), reaches);
    return found != entries.end() ? *found : entries.back();
}

/// A tile of GPUs by its entry, halved as GpuDeal says for a matrix of n columns.
inline Index dealt_tile(Index tile, const GpuDeal& deal, Index n, int gpus) {
    if (gpus < 2) return tile;
    while (tile > deal.widest_tile) tile /= 2;
    while (tile > deal.smallest_tile && n / tile < deal.tile_columns_a_gpu * gpus) tile /= 2;
    return tile;
}

/// A length of about `tile`, so that tiles fill all of `extent` rows or columns: operations take whole ones.
inline Index even_tile(Index tile, Index extent) {
    constexpr Index line = 32;  // elements that a warp reads at once
    const Index unit = std::min(line, tile);
    const Index count = std::max<Index>((extent + tile / 2) / tile, 1);
    const Index length = (std::max<Index>(extent, 1) + count - 1) / count;
    return (length + unit - 1) / unit * unit;
}

/// Columns left below which a GPU that factors a panel updates nothing meanwhile, as GpuDeal says.
inline Index panels_alone_below(const GpuDeal& deal, int gpus) {
    if (gpus < 2) return 0;
    return deal.panels_alone_below > any_size / gpus ? any_size : deal.panels_alone_below * gpus;
}

}  // namespace basalt::detail
