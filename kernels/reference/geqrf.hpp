#pragma once

#include <algorithm>
#include <cmath>

#include <basalt/view.hpp>

#include "kernels/reflector.hpp"

namespace basalt::reference {

/// Unblocked QR, LAPACK's geqr2: V below and R on and above the diagonal in place of A, any strides; tau gets min(m, n)
/// numbers. No guard against over- and underflow.
template <class T>
void geqrf(View<T> a, T* tau) {
    for (Index j = 0; j < std::min(a.rows(), a.cols()); ++j) {
        T squares = 0;
        for (Index i = j + 1; i < a.rows(); ++i) squares += a(i, j) * a(i, j);
        const Reflector<T> h = make_reflector(a(j, j), squares);
        tau[j] = h.tau;
        for (Index i = j + 1; i < a.rows(); ++i) a(i, j) = h.tau == 0 ? T{0} : a(i, j) * h.scale;
        a(j, j) = h.beta;
        for (Index k = j + 1; k < a.cols() && h.tau != 0; ++k) {
            T sum = a(j, k);
            for (Index i = j + 1; i < a.rows(); ++i) sum += a(i, j) * a(i, k);
            a(j, k) -= h.tau * sum;
            for (Index i = j + 1; i < a.rows(); ++i) a(i, k) -= h.tau * sum * a(i, j);
        }
    }
}

}  // namespace basalt::reference
