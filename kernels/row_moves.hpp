#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// The row moves that the interchanges of a panel amount to, independent of their order, so that all rows can move at
/// once.
///
/// The panel's pivots exchange row k with row pivots[k] >= k for k = 0 .. count - 1 in turn; its first
/// `count` rows are called the top. Afterwards top row k holds the former row top_source[k]. A row below the
/// top that is exchanged gives its contents to exactly one top row and gets those of a former top row:
/// where top_source[k] is such a row, refill[k] is that former top row, else -1. No other row changes.
struct RowMoves {
    Index* top_source = nullptr;
    Index* refill = nullptr;
    Index count = 0;

    RowMoves() = default;

    /// On `storage` of 2 * count numbers.
    RowMoves(Index* storage, Index count) : top_source(storage), refill(storage + count), count(count) {}
};

}  // namespace basalt
