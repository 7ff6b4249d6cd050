#pragma once

#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/matrix_part.hpp>
#include <basalt/view.hpp>

/// Products with few vectors, which cost the time to read the matrix once. `a`, `u` are row-major windows in the
/// device's memory, x and y any. Everything is enqueued on the stream; DeviceError is thrown where that fails. The same
/// input gives the same bits. For matrices of T and vectors of V, both float or double, V not the shorter one. CPU
/// twins: kernels/cpu/vector_product.hpp.
namespace basalt::cuda_kernels {

/// Y -= A X for a part of A; the diagonal passes through a(i, i + diagonal). X and Y do not overlap.
template <class T, class V>
void subtract_product(Stream stream, std::type_identity_t<View<const T>> a, MatrixPart part, Index diagonal,
                      std::type_identity_t<View<const V>> x, View<V> y);

/// X = U^-1 X for the upper triangle U of `u` (n x n); what is left of its diagonal is not used.
template <class T>
void solve_upper(Stream stream, std::type_identity_t<View<const T>> u, View<T> x);

}  // namespace basalt::cuda_kernels
