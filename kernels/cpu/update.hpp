#pragma once

#include <type_traits>

#include "kernels/tf32.hpp"
#include "tiles/tile_columns.hpp"

/// The row of blocks U and the trailing update on groups of tile columns: CPU twins of
/// kernels/cuda/update.hpp. Single-threaded, reentrant. For float and double.
namespace basalt::cpu_kernels {

/// U_j = X W_j for all tile columns j, X being the inverse of the panel's triangle (k x k, row-major, zeros
/// right of the diagonal). U and W are k rows of equally many tile columns of equal width, apart.
template <class T>
void solve_by_inverse(std::type_identity_t<View<const T>> x, std::type_identity_t<TileColumns<const T>> w,
                      TileColumns<T> u);

/// U_j = L^-1 W_j for the unit lower triangle L of `l` (k x k, row-major), with the inverses X of its diagonal blocks
/// of order inverted_block (one below the other: k x inverted_block, row-major, zeros right of the diagonal; the last
/// one may be smaller, and what is right of it is not used): U_i = X_ii (W_i - sum of L_ij U_j over j < i). U and W may
/// be the same.
template <class T>
void solve_by_inverses(std::type_identity_t<View<const T>> l, std::type_identity_t<View<const T>> x,
                       std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u);

/// U_j = L^-1 W_j by substitution, with the unit lower triangle of `l` (k x k, row-major) instead of its
/// inverse.
template <class T>
void solve_by_substitution(std::type_identity_t<View<const T>> l, std::type_identity_t<TileColumns<const T>> w,
                           TileColumns<T> u);

/// C_j -= L U_j for all tile columns j: L is m x k, row-major, shared by all of them; C_j is m x width, U_j k
/// x width. In TF32, L and U are rounded first. `precision` is full for double.
template <class T>
void update_trailing(std::type_identity_t<View<const T>> l, std::type_identity_t<TileColumns<const T>> u,
                     TileColumns<T> c, ProductPrecision precision = ProductPrecision::full);

}  // namespace basalt::cpu_kernels
