#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/row_moves.hpp"
#include "tiles/tile_columns.hpp"

/// Row interchanges as permutations, so that all rows move at once. All arguments lie in the device's memory;
/// everything is enqueued on the stream, and DeviceError is thrown where that fails. The CPU twins have the
/// same names and arguments (kernels/cpu/row_exchange.hpp).
///
/// After Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore System
/// with Accelerators", section 3.5, where the permutation of all rows is made; here only the rows that move
/// are looked at.
namespace basalt::cuda_kernels {

/// Longest list of pivots that find_row_moves() takes.
inline constexpr Index max_row_moves = 6144;

/// Writes what the interchanges `pivots` (moves.count numbers below 2^31, k <= pivots[k]) move. One block:
/// the time grows with the square of moves.count, not with the panel's height.
void find_row_moves(Stream stream, const Index* pivots, RowMoves moves);

/// Moves the rows of A as the interchanges would, but the new top rows to W instead: W(k) = A(top_source[k]),
/// and rows below get the former top rows. A's own top rows are dead afterwards. A starts at the panel's
/// first row and has the panel's height; W has moves.count rows and A's tile columns and width. One launch.
/// For float and double.
template <class T>
void exchange_rows(Stream stream, RowMoves moves, TileColumns<T> a, std::type_identity_t<TileColumns<T>> w);

}  // namespace basalt::cuda_kernels
