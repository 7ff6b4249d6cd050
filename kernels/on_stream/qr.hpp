#pragma once

#include "kernels/on_stream/kernel.hpp"
#include "kernels/split_product.hpp"
#include "tiles/tile_columns.hpp"

/// QR of a column panel, and blocks of reflectors on tile columns. Everything lies in the device's memory. For float
/// and double.
namespace basalt::on_stream {

template <class T>
struct QrPanelFactor
    : Kernel<QrPanelFactor<T>, void(View<T> panel, View<T> r, View<T> t, Index wide_leaves_from, void* workspace)> {};
/// A = (I - V T V^T) (R, 0)^T, LAPACK's geqrf and larft.
///
/// `panel` (m x k, m >= k, row-major) is A and becomes V, with zeros above its diagonal of ones; `r` and `t` (k x k,
/// row-major) become upper triangular with zeros below; tau is T's diagonal. Columns may have any scale and rank.
/// Well-conditioned columns are factored by Cholesky QR, twice unless they are nearly orthogonal, and the reflectors
/// are reconstructed from it (Ballard, Demmel, Grigori, Jacquelin, Knight, Nguyen, "Reconstructing Householder vectors
/// from tall-skinny QR", JPDC 85, 2015); the others by Householder's method. The device itself decides. Panels of at
/// least `wide_leaves_from` rows have leaves of twice as many columns where the device has the shared memory
/// (GpuTuning::Qr). The same input gives the same bits on GPUs with equally many multiprocessors. `workspace` is
/// aligned to 256 bytes and holds qr_panel_workspace() bytes, of any contents; the CPU twin allocates its own.
template <class T>
inline constexpr QrPanelFactor<T> qr_panel_factor{};

template <class T>
struct ReflectColumns : Kernel<ReflectColumns<T>, void(View<const T> v, View<const T> t, TileColumns<T> c, T* workspace,
                                                       Multiplication products)> {};
/// C_j = (I - V T^T V^T) C_j for all tile columns j. V is m x k, row-major, with zeros above its diagonal of ones; T is
/// k x k, row-major, with zeros below its diagonal, or the transpose of such a matrix (which makes it I - V T V^T); C_j
/// is m x width. `products`: how those with V are made; by bf16 slices only for float, and the workspace is then
/// aligned to 256 bytes. It holds reflect_columns_workspace() elements; the CPU twin allocates its own. The same input
/// gives the same bits.
template <class T>
inline constexpr ReflectColumns<T> reflect_columns{};

template <class T>
struct StoreReflectors : Kernel<StoreReflectors<T>, void(View<const T> v, View<const T> r, View<T> a)> {};
/// LAPACK's form: a = R on and above the diagonal, V below it; all row-major, V and a m x k, R k x k. V may be a.
template <class T>
inline constexpr StoreReflectors<T> store_reflectors{};

template <class T>
struct ExplicitReflectors : Kernel<ExplicitReflectors<T>, void(View<const T> a, View<T> v)> {};
/// V with its ones on the diagonal and zeros above, out of LAPACK's form `a`. Both row-major, m x k; they may be the
/// same.
template <class T>
inline constexpr ExplicitReflectors<T> explicit_reflectors{};

template <class T>
struct GramMatrix : Kernel<GramMatrix<T>, void(View<const T> v, View<T> gram, T* workspace)> {};
/// V^T V of a V that is much taller than wide. V is m x k, the result k x k, both row-major. `workspace` holds
/// gram_matrix_workspace() elements; the CPU twin does not use it. The same input gives the same bits on GPUs with
/// equally many multiprocessors.
template <class T>
inline constexpr GramMatrix<T> gram_matrix{};

}  // namespace basalt::on_stream
