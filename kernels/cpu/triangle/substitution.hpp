#pragma once

#include <type_traits>

#include "kernels/triangle.hpp"

namespace basalt::cpu_kernels {

/// X = T^-1 X for the named triangle of `t`, whose other side is not read, on one core. As in LAPACK's reference,
/// numbers on the diagonal may be denormal, and a zero there divides. Reentrant.
template <class T>
void solve_triangle(Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t, View<T> x);

}  // namespace basalt::cpu_kernels
