#pragma once

#include <type_traits>

#include <basalt/view.hpp>

#include "kernels/strided.hpp"
#include "tiles/triangle_strips.hpp"

/// Cholesky of column panels and its trailing update: CPU twins of kernels/cuda/cholesky.hpp, row-major as
/// well; and what cores factor for GPUs. Single-threaded, reentrant. For float and double.
namespace basalt::cpu_kernels {

/// panel = L in place: the square on top becomes its Cholesky factor L(k, k), the rows P below it P L(k,
/// k)^-T. m x n, m >= n; the square's strictly upper triangle is neither read nor written. *info is 0 or the
/// number, from 1, of the first pivot that is not positive or is NaN; the panel is then left half done.
template <class T>
void cholesky_panel(View<T> panel, Index* info);

/// C_i -= A_i B_i^T for i < count: A_i m x k, B_i n x k, C_i m x n.
template <class T>
void subtract_transposed_products(Index count, std::type_identity_t<Strided<const T>> a,
                                  std::type_identity_t<Strided<const T>> b, Strided<T> c);

/// The elements of `a` right of its diagonal, at most band - 1 columns from it: element (i, i + d), 0 < d <
/// band, goes to saved(i, d), or comes from there. `saved` is a.rows() x band.
template <class T>
void save_above_diagonal(std::type_identity_t<View<const T>> a, View<T> saved);
template <class T>
void restore_above_diagonal(std::type_identity_t<View<const T>> saved, View<T> a);

/// The triangle in `strips` becomes its Cholesky factor; elements right of the diagonal keep their values. Returns INFO
/// as factor_triangle() does.
template <class T>
Index factor_strips(const TriangleStrips& strips, T* array);

/// prepare_solve() of kernels/cpu/cholesky.hpp for a triangle in strips.
template <class T>
void prepare_solve(const TriangleStrips& strips, const T* array, View<T> rows, T* scale);

/// P := P L^-T with L prepared so: twice as fast as OpenBLAS's trsm, by the products of solve_and_pack().
template <class T>
void solve_rows(std::type_identity_t<View<const T>> l, const T* scale, View<T> p);

}  // namespace basalt::cpu_kernels
