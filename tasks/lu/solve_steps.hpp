#pragma once

#include "basalt/lu.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"

namespace basalt::detail {

// Steps of lu_solve() and lu_solve_augmented(), for callers that substitute in another way.

/// Submits B := P B, on cores.
template <class T>
void lu_permute(const LuFactors<T>& lu, const Matrix<T>& b);

/// For factors of an n x (n + k) matrix: its last k columns, which the factorization has made L^-1 P B of. Submits
/// their copy on `gpus`, those that have the tile columns. Up to few_right_hand_sides are one tile column.
template <class T>
Matrix<T> lu_take_augmented(const LuFactors<T>& lu, const ColumnGpus& gpus);

}  // namespace basalt::detail
