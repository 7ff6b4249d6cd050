#pragma once

#include <type_traits>

#include <basalt/view.hpp>

#include "kernels/triangle.hpp"

/// Cholesky of blocks on one core. Single-threaded, reentrant. For float and double. Views are row-major or
/// column-major; a triangle's other side is neither read nor written.
namespace basalt::cpu_kernels {

/// A = L L^T in the lower triangle or A = U^T U in the upper one, in place. Returns LAPACK's INFO: 0, or the 1-based
/// index of the first pivot that is not positive or is NaN, where it stops.
template <class T>
Index factor_triangle(Triangle triangle, View<T> a);

/// The operands of solve_and_pack() for the lower triangle L: `rows`, a row-major copy up to the diagonal,
/// and scale[j] = 1 / l(j, j).
template <class T>
void prepare_solve(std::type_identity_t<View<const T>> l, View<T> rows, T* scale);

/// C -= P P^T for one triangle of C (n x n, row-major), P n x k, row-major, P^T packed as pack_b() does.
template <class T>
void subtract_square(Triangle triangle, View<T> c, std::type_identity_t<View<const T>> p, const T* packed);

/// target = source^T, both row-major.
template <class T>
void transpose(std::type_identity_t<View<const T>> source, View<T> target);

}  // namespace basalt::cpu_kernels
