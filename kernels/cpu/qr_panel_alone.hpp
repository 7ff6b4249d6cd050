#pragma once

#include <type_traits>

#include "tiles/tile_columns.hpp"

/// CPU twins of kernels/cuda/qr_panel.hpp and block_reflector.hpp. Single-threaded; they allocate their scratch. For
/// float and double.
namespace basalt::cpu_kernels {

/// The gang panel (kernels/cpu/qr_panel.hpp) with a gang of one: `panel` (m x k, row-major) becomes V, explicit; r and
/// t upper triangular.
template <class T>
void qr_panel_factor(View<T> panel, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t);

/// C_j = (I - V T^T V^T) C_j for all tile columns j, T row-major or the transpose of such a matrix. `by_pieces`: as
/// kernels/split_product.hpp has it, for float.
template <class T>
void reflect_columns(std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t, TileColumns<T> c,
                     bool by_pieces = false);

/// a = R on and above the diagonal, V below it.
template <class T>
void store_reflectors(std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r, View<T> a);

}  // namespace basalt::cpu_kernels
