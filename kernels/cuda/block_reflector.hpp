#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "tiles/tile_columns.hpp"

/// Blocks of reflectors on tile columns. CPU twins: kernels/cpu/qr_panel_alone.hpp.
namespace basalt::cuda_kernels {

/// Elements of workspace that reflect_columns() needs for k reflectors of so many rows on so many columns, on a GPU of
/// so many multiprocessors.
Index reflect_columns_workspace(Index rows, Index k, Index columns, int multiprocessors, bool by_pieces = false);

/// C_j = (I - V T^T V^T) C_j for all tile columns j. V is m x k, row-major, with zeros above its diagonal of ones, T k
/// x k, row-major, zeros below its diagonal, or the transpose of such a matrix (which makes it I - V T V^T); C_j is m x
/// width. Everything in the device's memory; enqueued on the stream. `by_pieces`, for float: the products with V by
/// pieces of 8 bits (kernels/split_product.hpp); the workspace is 256 bytes aligned then. The same input gives the same
/// bits. Throws DeviceError. For float and double.
template <class T>
void reflect_columns(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                     TileColumns<T> c, T* workspace, bool by_pieces = false);

/// LAPACK's form: a = R on and above the diagonal, V below it; all row-major, V and a m x k, R k x k. V may be a.
template <class T>
void store_reflectors(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r,
                      View<T> a);

/// V, explicit, out of LAPACK's form `a`: ones on the diagonal, zeros above it. Both row-major, m x k;
/// they may be the same.
template <class T>
void explicit_reflectors(Stream stream, std::type_identity_t<View<const T>> a, View<T> v);

}  // namespace basalt::cuda_kernels
