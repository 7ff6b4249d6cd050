#pragma once

#include <numeric>
#include <vector>

#include "kernels/reference/laswp.hpp"
#include "kernels/row_moves.hpp"

namespace basalt::reference {

/// Where the contents of each of `rows` rows come from after the interchanges: those of row i from row
/// sources[i].
inline std::vector<Index> row_sources(Index rows, const Index* pivots, Index count) {
    std::vector<Index> sources(static_cast<std::size_t>(rows));
    std::iota(sources.begin(), sources.end(), Index{0});
    laswp(View<Index>(sources.data(), rows), pivots, count);
    return sources;
}

/// What RowMoves says of them, by its definition.
inline void find_row_moves(Index rows, const Index* pivots, RowMoves moves) {
    const std::vector<Index> sources = row_sources(rows, pivots, moves.count);
    for (Index k = 0; k < moves.count; ++k) {
        const Index source = sources[static_cast<std::size_t>(k)];
        moves.top_source[k] = source;
        moves.refill[k] = source >= moves.count ? sources[static_cast<std::size_t>(source)] : -1;
    }
}

}  // namespace basalt::reference
