#pragma once

#include <type_traits>

#include "kernels/row_moves.hpp"

/// The CPU twin of kernels/cuda/leading_update.hpp, of any order and height. For float and double.
namespace basalt::cpu_kernels {

template <class T>
void update_leading(std::type_identity_t<View<const T>> l, RowMoves moves, View<T> a);

}  // namespace basalt::cpu_kernels
