#pragma once

#include <type_traits>

#include <basalt/view.hpp>

/// The inverse of a panel's triangle: CPU twin of kernels/cuda/triangle_inverse.hpp.
namespace basalt::cpu_kernels {

/// inverse = L^-1 for the unit lower triangle L of `l` (n x n; its diagonal and what is right of it are not
/// read), with zeros right of the diagonal. norms[0] = max |inverse_ij|, norms[1] = ||inverse||_1, NaN where
/// it holds one; 0 for n = 0. Both row-major, apart. Single-threaded, reentrant. For float and double.
template <class T>
void invert_unit_lower(std::type_identity_t<View<const T>> l, View<T> inverse, double* norms);

}  // namespace basalt::cpu_kernels
