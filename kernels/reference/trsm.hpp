#pragma once

#include <cassert>
#include <type_traits>

#include "kernels/triangle.hpp"

namespace basalt::reference {

/// Solves T X = B (Side::left) or X T = B (Side::right) in place of B, any strides. A transposed triangle is
/// passed as transposed(t) with the other Triangle. No test for singularity: a zero on the diagonal divides.
template <class T>
void trsm(Side side, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t, View<T> b) {
    if (side == Side::right) {  // X T = B is T^T X^T = B^T
        trsm<T>(Side::left, transposed(triangle), diagonal, transposed(t), transposed(b));
        return;
    }
    const Index n = b.rows();
    assert(t.rows() == n && t.cols() == n);
    for (Index j = 0; j < b.cols(); ++j) {
        for (Index step = 0; step < n; ++step) {
            const bool lower = triangle == Triangle::lower;
            const Index i = lower ? step : n - 1 - step;
            for (Index k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) b(i, j) -= t(i, k) * b(k, j);
            if (diagonal == Diagonal::stored) b(i, j) /= t(i, i);
        }
    }
}

}  // namespace basalt::reference
