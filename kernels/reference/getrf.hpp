#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <basalt/view.hpp>

namespace basalt::reference {

/// The row of the pivot of column j, searched from row j down: the first one of largest magnitude.
///
/// As in BLAS's idamax a comparison with NaN is false: a NaN on the diagonal stays the pivot, a NaN below it
/// is never chosen.
template <class T>
Index pivot_row(View<const T> a, Index j) {
    Index row = j;
    for (Index i = j + 1; i < a.rows(); ++i) {
        if (std::abs(a(i, j)) > std::abs(a(row, j))) row = i;
    }
    return row;
}

/// Unblocked LU with partial pivoting, LAPACK's getf2: A = P L U in place of A, any strides.
///
/// pivots[j], j < min(m, n), is the 0-based row exchanged with row j. Returns LAPACK's INFO: 0, or the
/// 1-based index of the first pivot that is exactly zero; its column is left unscaled and the factorization
/// goes on.
template <class T>
Index getrf(View<T> a, Index* pivots) {
    const Index steps = std::min(a.rows(), a.cols());
    Index info = 0;
    for (Index j = 0; j < steps; ++j) {
        const Index p = pivot_row<T>(a, j);
        pivots[j] = p;
        if (a(p, j) == T{}) {
            if (info == 0) info = j + 1;
        } else {
            for (Index k = 0; k < a.cols() && p != j; ++k) std::swap(a(j, k), a(p, k));
            // the reciprocal of a denormal pivot may overflow where the quotients do not
            const bool safe = std::abs(a(j, j)) >= std::numeric_limits<T>::min();
            const T reciprocal = T{1} / a(j, j);
            for (Index i = j + 1; i < a.rows(); ++i) a(i, j) = safe ? a(i, j) * reciprocal : a(i, j) / a(j, j);
        }
        for (Index i = j + 1; i < a.rows(); ++i) {
            for (Index k = j + 1; k < a.cols(); ++k) a(i, k) -= a(i, j) * a(j, k);
        }
    }
    return info;
}

}  // namespace basalt::reference
