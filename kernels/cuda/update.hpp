#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "kernels/tf32.hpp"
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

/// U_j = L^-1 W_j for the unit lower triangle L of `l` (k x k, row-major), with the inverses X of its diagonal blocks
/// of order inverted_block (one below the other: k x inverted_block, row-major, zeros right of the diagonal; the last
/// one may be smaller, and what is right of it is not used): U_i = X_ii (W_i - sum of L_ij U_j over j < i). One launch
/// up to k = 512; then one and an update each for 512 rows more. U and W may be the same. std::length_error where 512
/// rows of `l` are further apart than 32 bits count.
template <class T>
void solve_by_inverses(Stream stream, std::type_identity_t<View<const T>> l, std::type_identity_t<View<const T>> x,
                       std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u);

/// The same by substitution in the diagonal blocks: slower, for where the inverses are too large.
template <class T>
void solve_by_substitution(Stream stream, std::type_identity_t<View<const T>> l,
                           std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u);

/// C_j -= L U_j for all tile columns j: L is m x k, row-major, shared by all of them; C_j is m x width, U_j k
/// x width. One strided-batched GEMM. `precision` is full for double.
template <class T>
void update_trailing(Stream stream, std::type_identity_t<View<const T>> l, std::type_identity_t<TileColumns<const T>> u,
                     TileColumns<T> c, ProductPrecision precision = ProductPrecision::full);

}  // namespace basalt::cuda_kernels
