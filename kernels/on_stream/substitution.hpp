#pragma once

#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"
#include "kernels/triangle.hpp"
#include "kernels/triangle_columns.hpp"

/// Substitution for few right-hand sides by the inverses of small blocks on a triangle's diagonal. All arguments lie in
/// the device's memory and are row-major. For float and double.
namespace basalt::on_stream {

/// Order of the blocks; the last one of a triangle may be smaller.
inline constexpr Index substituted_block = 128;

template <class T>
struct InvertDiagonalBlocks
    : Kernel<InvertDiagonalBlocks<T>, void(Triangle triangle, Diagonal diagonal, View<const T> t, View<T> inverses)> {};
/// inverses = those of the blocks on the diagonal of the named triangle of `t` (n x n), one below the other: n x
/// substituted_block, with zeros on the other side of their diagonals and right of a smaller block. The other side of
/// `t`, and the diagonal if it is unit, are not read. A zero on the diagonal gives infinite elements.
template <class T>
inline constexpr InvertDiagonalBlocks<T> invert_diagonal_blocks{};

/// Bytes of workspace, aligned to 8, that substitute_whole() needs for a triangle of this order.
template <class T>
constexpr std::size_t whole_workspace(Index order, Index vectors) {
    return static_cast<std::size_t>(vectors) * (8 + static_cast<std::size_t>(order) * 2 * sizeof(T));
}

template <class T>
struct SubstituteWhole : Kernel<SubstituteWhole<T>, void(Triangle triangle, MatrixOp op, const TriangleColumns<T>& t,
                                                         View<T> x, void* workspace)> {};
/// X := op(T)^-1 X for a triangle that one device has as a whole, of a matrix or on the diagonal of a tile column, X
/// with t.order rows: one launch, in which thread
/// blocks pass their part of the solution on (kernels/cuda/triangle/whole.hpp). The same input gives the same bits. The
/// CPU twin does not use the workspace.
template <class T>
inline constexpr SubstituteWhole<T> substitute_whole{};

}  // namespace basalt::on_stream
