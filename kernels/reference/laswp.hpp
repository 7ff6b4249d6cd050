#pragma once

#include <utility>

#include <basalt/view.hpp>

namespace basalt::reference {

/// Exchanges row k of A with row pivots[k] for k = 0 .. count - 1, in that order: LAPACK's laswp with
/// 0-based row numbers.
template <class T>
void laswp(View<T> a, const Index* pivots, Index count) {
    for (Index k = 0; k < count; ++k) {
        if (pivots[k] == k) continue;
        for (Index j = 0; j < a.cols(); ++j) std::swap(a(k, j), a(pivots[k], j));
    }
}

}  // namespace basalt::reference
