#pragma once

// Matrices with denormal and infinite pivots, what LAPACK makes of them, and comparisons with it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/reference/potrf.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"

namespace basalt_tests {

/// A lower triangle, and what plain loops make of it: LAPACK's potf2. (OpenBLAS's own potrf does not do what LAPACK
/// says for such pivots.)
template <class T>
struct ExtremeMatrix {
    std::string what;
    Dense<T> a;
    Dense<T> factor = a;
    Index info = basalt::reference::potrf<T>(Triangle::lower, factor.view());
};

/// Of order n: one pivot that is extreme, alone in its row and column or not, and all elements denormal.
template <class T>
std::vector<ExtremeMatrix<T>> extreme_matrices(Index n) {
    using Limits = std::numeric_limits<T>;
    std::vector<ExtremeMatrix<T>> matrices;
    const Dense<T> spd = spd_dense<T>(Triangle::lower, n, 3);
    for (const T pivot : {Limits::infinity(), Limits::denorm_min(), Limits::min() / 8}) {
        for (const Index where : {Index{0}, n / 2, n - 1}) {
            const std::string what = "pivot " + std::to_string(where) + " is " + std::to_string(std::log2(pivot));
            Dense<T> a = spd;
            for (Index j = 0; j < where; ++j) a(where, j) = 0;
            a(where, where) = pivot;
            matrices.push_back({what + " (log2), a pivot with a column", a});
            for (Index i = where + 1; i < n; ++i) a(i, where) = 0;
            matrices.push_back({what + " (log2), alone", a});
        }
    }
    for (const int digits : {12, 20}) {  // that are left to the elements
        Dense<T> a = spd;
        for (Index j = 0; j < n; ++j) {
            for (Index i = j; i < n; ++i) a(i, j) *= std::ldexp(Limits::denorm_min(), digits);
        }
        matrices.push_back({"denormal elements of " + std::to_string(digits) + " bits", a});
    }
    return matrices;
}

inline double larger_or_nan(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }

/// Right-hand sides for rows P = A L^-T, as columns: a multiple of the factor's rows each, where that is finite.
template <class T>
Dense<T> extreme_rows(const ExtremeMatrix<T>& extreme, Index count) {
    const Index n = extreme.a.n;
    Dense<T> rows(n, count);
    rows.values.back() = 0;
    const Dense<T> x = random_dense<T>(n, count, 9);
    for (Index c = 0; c < count; ++c) {
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index k = 0; k <= i; ++k) {
                const auto l = static_cast<double>(extreme.factor(i, k));
                sum += std::isinf(l) ? 1 : l * static_cast<double>(x(k, c));
            }
            rows(i, c) = static_cast<T>(sum);
        }
    }
    return rows;
}

/// Whether two factors, the lower triangles of two matrices, are the same but for rounding errors. An error of L's
/// elements is as large as those of the elements of A over that of L's diagonal, which may be denormal.
template <class T>
bool same_factor(const Dense<T>& got, const Dense<T>& expected) {
    for (Index j = 0; j < expected.n; ++j) {
        double norm = 0;
        for (Index i = j; i < expected.n; ++i) {
            const double x = std::abs(static_cast<double>(expected(i, j)));
            if (std::isfinite(x)) norm = std::max(norm, x);
        }
        for (Index i = j; i < expected.n; ++i) {
            if (got(i, j) == expected(i, j)) continue;
            const double error = std::abs(static_cast<double>(got(i, j)) - static_cast<double>(expected(i, j)));
            const double least = static_cast<double>(std::numeric_limits<T>::denorm_min()) / norm;
            if (!(error <= 100 * static_cast<double>(expected.n) * (norm * roundoff<T> + least))) return false;
        }
    }
    return true;
}

}  // namespace basalt_tests
