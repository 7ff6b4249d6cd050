#pragma once

#include "kernels/on_stream/kernel.hpp"
#include "kernels/row_moves.hpp"
#include "tiles/tile_columns.hpp"

/// Row interchanges as permutations, so that all rows move at once. All arguments lie in the device's memory.
///
/// After Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore System with
/// Accelerators", section 3.5, which builds the permutation of all rows. These kernels look only at the rows that move.
namespace basalt::on_stream {

/// Longest list of pivots that find_row_moves() takes.
inline constexpr Index max_row_moves = 6144;

struct FindRowMoves : Kernel<FindRowMoves, void(const Index* pivots, RowMoves moves)> {};
/// Writes the moves that the interchanges `pivots` (moves.count numbers below 2^31, k <= pivots[k]) amount to. On a GPU
/// this is one block; its time grows with the square of moves.count, not with the panel's height.
inline constexpr FindRowMoves find_row_moves{};

template <class T>
struct ExchangeRows : Kernel<ExchangeRows<T>, void(RowMoves moves, TileColumns<T> a, TileColumns<T> w)> {};
/// Moves the rows of A as the interchanges would, but writes the new top rows to W: W(k) = A(top_source[k]), and rows
/// below get the former top rows. A's own top rows are dead afterwards. A starts at the panel's first row and has the
/// panel's height; W has moves.count rows and A's tile columns and width. One launch. For float and double.
template <class T>
inline constexpr ExchangeRows<T> exchange_rows{};

}  // namespace basalt::on_stream
