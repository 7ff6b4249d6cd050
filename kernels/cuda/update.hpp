#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "tiles/tile_columns.hpp"

/// The row of blocks U and the trailing update on groups of tile columns, one cuBLAS call each where it can
/// be. All arguments lie in the device's memory; everything is enqueued on the stream, with its cuBLAS
/// handle, and DeviceError is thrown where that fails. For float and double. CPU twins:
/// kernels/cpu/update.hpp.
namespace basalt::cuda_kernels {

/// U_j = X W_j for all tile columns j, X being the inverse of the panel's triangle (k x k, row-major, zeros
/// right of the diagonal). U and W are k rows of equally many tile columns of equal width, apart.
template <class T>
void solve_by_inverse(Stream stream, std::type_identity_t<View<const T>> x,
                      std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u);

/// U_j = L^-1 W_j by substitution, with the unit lower triangle of `l` (k x k, row-major) instead of its
/// inverse: slower, for where the inverse is too large.
template <class T>
void solve_by_substitution(Stream stream, std::type_identity_t<View<const T>> l,
                           std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u);

/// C_j -= L U_j for all tile columns j: L is m x k, row-major, shared by all of them; C_j is m x width, U_j k
/// x width. One strided-batched GEMM.
template <class T>
void update_trailing(Stream stream, std::type_identity_t<View<const T>> l,
                     std::type_identity_t<TileColumns<const T>> u, TileColumns<T> c);

}  // namespace basalt::cuda_kernels
