#pragma once

// What the tests of batched LU share.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "tests/tasks/batch/factor_cases.hpp"

namespace basalt_tests {

inline basalt::Config lu_cores(int workers = 2) {
    basalt::Config config;
    config.workers = workers;
    config.gpus = 0;
    return config;
}

/// A batch with right-hand sides and the places of results.
template <class T>
struct LuBatch {
    BatchMemory<T> a, b;
    BatchMemory<Index> pivots;
    std::vector<Index> info;

    LuBatch(Index count, Index n, Index nrhs, Index gap = 0, Index space = 0, Index offset = 0)
        : a{count, n, n, gap, space, offset},
          b{count, n, nrhs, gap, space, offset},
          pivots{count, n, 1, gap, space, offset},
          info(static_cast<std::size_t>(count), 77) {
        fill_random(a);
        for (Index k = 0; k < count; ++k) fill_sides(b[k], k);
    }
    bool all_good() const { return info == std::vector<Index>(info.size(), 0); }
    void forget() { std::fill(info.begin(), info.end(), 77); }
};

/// max |P A - L U| / (n max |A| eps) for the matrices of two batches, before and after.
template <class T>
double factor_residual(View<T> before, View<T> factors, View<Index> pivots) {
    const Index n = before.rows();
    std::vector<Index> row(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = i;
    for (Index k = 0; pivots.rows() == n && k < n; ++k) {
        const Index other = pivots(k, 0) - 1;
        if (other < k || other >= n) return std::numeric_limits<double>::infinity();
        std::swap(row[static_cast<std::size_t>(k)], row[static_cast<std::size_t>(other)]);
    }
    double worst = 0;
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            double sum = static_cast<double>(before(row[static_cast<std::size_t>(i)], j));
            for (Index k = 0; k <= std::min(i, j); ++k) {
                const double l = k == i ? 1.0 : static_cast<double>(factors(i, k));
                sum -= l * static_cast<double>(factors(k, j));
            }
            if (!(std::abs(sum) <= worst)) worst = std::abs(sum);
        }
    }
    return worst / (static_cast<double>(n + 4) * std::max(1e-30, largest_of(before)) * eps<T>());
}

/// The growth of random matrices is far below this.
inline constexpr double residual_bound = 10;

}  // namespace basalt_tests
