#pragma once

#include "kernels/on_stream/kernel.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "kernels/triangle.hpp"
#include "tiles/tile_columns.hpp"

/// Triangles: copies, inverses and solves, with cuBLAS where it is fast enough. All arguments lie in the device's
/// memory. The same input gives the same bits. For float and double.
namespace basalt::on_stream {

template <class T>
struct CopyTriangle
    : Kernel<CopyTriangle<T>, void(Triangle triangle, Index offset, View<const T> source, View<T> target)> {};
/// target(i, j) = source(i, j) for the elements of one triangle: those with i >= j + offset (lower) or i <= j + offset
/// (upper), so that windows of a matrix that do not begin on its diagonal can be named. Equal shapes, each with unit
/// row or column stride; the two do not overlap.
template <class T>
inline constexpr CopyTriangle<T> copy_triangle{};

template <class T>
struct ZeroTriangle : Kernel<ZeroTriangle<T>, void(Triangle triangle, Index offset, View<T> target)> {};
/// target(i, j) = 0 for the elements that copy_triangle() would copy. Unit row or column stride.
template <class T>
inline constexpr ZeroTriangle<T> zero_triangle{};

/// target(i, j) = source(i, j) where each may be row-major or column-major: of equal shape, not overlapping.
template <class T>
void copy_window(Stream stream, std::type_identity_t<View<const T>> source, View<T> target) {
    if (source.col_stride() != 1 || target.col_stride() != 1) {
        const Index everything = -source.rows() - source.cols();
        return copy_triangle<T>(stream, Triangle::lower, everything, source, target);
    }
    copy_elements<T>(stream, source, target);
}

template <class T>
struct InvertUnitLower : Kernel<InvertUnitLower<T>, void(View<const T> l, View<T> inverse, double* norms)> {};
/// inverse = L^-1 for the unit lower triangle L of `l` (n x n; its diagonal and the elements right of it are not read),
/// with zeros right of the diagonal. norms[0] = max |inverse_ij|, norms[1] = ||inverse||_1, NaN where the inverse holds
/// one; 0 for n = 0. Both row-major, not overlapping.
///
/// Triangles of up to 256 rows on the diagonal are inverted at once; then, doubling, the inverse of (L11 0; L21 L22)
/// has -L22^-1 L21 L11^-1 below the two inverses it is made of.
template <class T>
inline constexpr InvertUnitLower<T> invert_unit_lower{};

template <class T>
struct SolveByInverse : Kernel<SolveByInverse<T>, void(View<const T> x, TileColumns<const T> w, TileColumns<T> u)> {};
/// U_j = X W_j for all tile columns j, X being the inverse of the panel's triangle (k x k, row-major, zeros right of
/// the diagonal). U and W are k rows of equally many tile columns of equal width that do not overlap.
template <class T>
inline constexpr SolveByInverse<T> solve_by_inverse{};

template <class T>
struct SolveByInverses
    : Kernel<SolveByInverses<T>, void(View<const T> l, View<const T> x, TileColumns<const T> w, TileColumns<T> u)> {};
/// U_j = L^-1 W_j for the unit lower triangle L of `l` (k x k, row-major), with the inverses X of its diagonal blocks
/// of order inverted_block: U_i = X_ii (W_i - sum of L_ij U_j over j < i). X holds the inverses one below the other (k
/// x inverted_block, row-major, zeros right of the diagonal; the last one may be smaller, and the elements right of it
/// are not used). U and W may be the same. One launch up to k = 256, then one launch and one update for each further
/// 256 rows. std::length_error where 256 rows of `l` are further apart than 32 bits count.
template <class T>
inline constexpr SolveByInverses<T> solve_by_inverses{};

template <class T>
struct SolveBySubstitution
    : Kernel<SolveBySubstitution<T>, void(View<const T> l, TileColumns<const T> w, TileColumns<T> u)> {};
/// The same by substitution in the diagonal blocks: slower, for inverses that are too large.
template <class T>
inline constexpr SolveBySubstitution<T> solve_by_substitution{};

template <class T>
struct SolveTriangle
    : Kernel<SolveTriangle<T>, void(Triangle triangle, Diagonal diagonal, View<const T> t, View<T> x)> {};
/// X = T^-1 X for the named triangle of `t` (n x n), whose other side is not read; X is n x r. Either is row-major or
/// the transpose of such a matrix.
template <class T>
inline constexpr SolveTriangle<T> solve_triangle{};

}  // namespace basalt::on_stream
