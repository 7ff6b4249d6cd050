#pragma once

#include <type_traits>

#include "kernels/row_moves.hpp"
#include "tiles/tile_columns.hpp"

/// Row interchanges as permutations: the CPU twins of kernels/cuda/row_exchange.hpp. Single-threaded,
/// reentrant.
namespace basalt::cpu_kernels {

/// Writes what the interchanges `pivots` (moves.count numbers, k <= pivots[k]) move.
void find_row_moves(const Index* pivots, RowMoves moves);

/// Moves the rows of A as the interchanges would, but the new top rows to W instead: W(k) = A(top_source[k]),
/// and rows below get the former top rows. A's own top rows are dead afterwards. A starts at the panel's
/// first row and has the panel's height; W has moves.count rows and A's tile columns and width. For float and
/// double.
template <class T>
void exchange_rows(RowMoves moves, TileColumns<T> a, std::type_identity_t<TileColumns<T>> w);

}  // namespace basalt::cpu_kernels
