#pragma once

#include <type_traits>

#include <basalt/view.hpp>

#include "tiles/triangle_strips.hpp"

/// What cores factor for GPUs in Cholesky. Single-threaded, reentrant. For float and double.
namespace basalt::cpu_kernels {

/// The triangle in `strips` becomes its Cholesky factor; elements right of the diagonal keep their values. Returns INFO
/// as factor_triangle() does.
template <class T>
Index factor_strips(const TriangleStrips& strips, T* array);

/// prepare_solve() of kernels/cpu/cholesky/cholesky.hpp for a triangle in strips.
template <class T>
void prepare_solve(const TriangleStrips& strips, const T* array, View<T> rows, T* scale);

/// P := P L^-T with L prepared so: twice as fast as OpenBLAS's trsm, by the products of solve_and_pack().
template <class T>
void solve_rows(std::type_identity_t<View<const T>> l, const T* scale, View<T> p);

}  // namespace basalt::cpu_kernels
