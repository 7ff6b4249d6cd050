#pragma once

#include <cmath>

#include <basalt/view.hpp>

#include "kernels/triangle.hpp"

namespace basalt::reference {

/// Unblocked Cholesky, LAPACK's potf2: A = L L^T in the lower triangle, or A = U^T U in the upper one, in place, any
/// strides. Returns LAPACK's INFO: 0, or the 1-based index of the first pivot that is not positive or is NaN, where the
/// factorization stops.
template <class T>
Index potrf(Triangle triangle, View<T> a) {
    if (triangle == Triangle::upper) return potrf<T>(Triangle::lower, transposed(a));  // A = U^T U is A = L L^T
    for (Index j = 0; j < a.rows(); ++j) {
        T pivot = a(j, j);
        for (Index k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
        if (!(pivot > T{})) return a(j, j) = pivot, j + 1;
        a(j, j) = std::sqrt(pivot);
        for (Index i = j + 1; i < a.rows(); ++i) {
            for (Index k = 0; k < j; ++k) a(i, j) -= a(i, k) * a(j, k);
            a(i, j) /= a(j, j);
        }
    }
    return 0;
}

}  // namespace basalt::reference
