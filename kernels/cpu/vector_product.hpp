#pragma once

#include <type_traits>

#include <basalt/matrix_part.hpp>
#include <basalt/view.hpp>

/// Products with few vectors: CPU twins of kernels/cuda/vector_product.hpp. Single-threaded, reentrant.
namespace basalt::cpu_kernels {

/// Y -= A X for a part of A, row-major; the diagonal passes through a(i, i + diagonal). X and Y do not overlap.
template <class T, class V>
void subtract_product(std::type_identity_t<View<const T>> a, MatrixPart part, Index diagonal,
                      std::type_identity_t<View<const V>> x, View<V> y);

}  // namespace basalt::cpu_kernels
