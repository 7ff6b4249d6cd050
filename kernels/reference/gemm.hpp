#pragma once

#include <cassert>
#include <type_traits>

#include <basalt/view.hpp>

namespace basalt::reference {

/// C = alpha A B + beta C with A m x k, B k x n, C m x n, any strides. beta == 0 overwrites C even where it
/// holds NaN, as BLAS does. Plain loops: the oracle the fast kernels are tested against.
template <class T>
void gemm(std::type_identity_t<T> alpha, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> b,
          std::type_identity_t<T> beta, View<T> c) {
    assert(a.rows() == c.rows() && b.cols() == c.cols() && a.cols() == b.rows());
    for (Index i = 0; i < c.rows(); ++i) {
        for (Index j = 0; j < c.cols(); ++j) {
            T sum{};
            for (Index k = 0; k < a.cols(); ++k) sum += a(i, k) * b(k, j);
            c(i, j) = beta == T{} ? alpha * sum : alpha * sum + beta * c(i, j);
        }
    }
}

}  // namespace basalt::reference
