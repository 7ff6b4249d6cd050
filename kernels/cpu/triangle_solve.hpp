#pragma once

#include <type_traits>

#include "kernels/triangle.hpp"

/// CPU twins of kernels/cuda/triangle_solve.hpp. Single-threaded, reentrant.
namespace basalt::cpu_kernels {

/// X = T^-1 X for the named triangle of `t`, whose other side is not read.
template <class T>
void solve_triangle(Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t, View<T> x);

/// Y -= A X
template <class T>
void subtract_from_rows(std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x, View<T> y);

}  // namespace basalt::cpu_kernels
