#pragma once

#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

/// The inverse of a panel's triangle, for solving by GEMM. CPU twin: kernels/cpu/triangle_inverse.hpp.
namespace basalt::cuda_kernels {

/// inverse = L^-1 for the unit lower triangle L of `l` (n x n; its diagonal and what is right of it are not
/// read), with zeros right of the diagonal. norms[0] = max |inverse_ij|, norms[1] = ||inverse||_1, NaN where
/// it holds one; 0 for n = 0. Both row-major, apart; everything in the device's memory. Enqueued; throws
/// DeviceError where that fails. For float and double.
///
/// Triangles of up to 256 rows on the diagonal are inverted at once; then, doubling, the inverse of (L11 0;
/// L21 L22) has -L22^-1 L21 L11^-1 below the two it is made of.
template <class T>
void invert_unit_lower(Stream stream, std::type_identity_t<View<const T>> l, View<T> inverse, double* norms);

}  // namespace basalt::cuda_kernels
