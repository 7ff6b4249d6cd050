#pragma once

// LAPACK as the oracle of the LU tests: column-major matrices, LAPACKE's results, and LAPACK's ratios.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

#include <cblas.h>
#include <lapacke.h>

#include <basalt/generator.hpp>
#include <basalt/view.hpp>

namespace basalt_tests {

using basalt::Index;
using basalt::View;

/// The value of the rows between m and lda, which no routine may touch.
inline constexpr double gap_mark = -12345;

/// A column-major matrix whose leading dimension may leave a gap below each column.
template <class T>
struct Dense {
    Dense(Index m, Index n, Index gap = 0)
        : m(m), n(n), ld(std::max<Index>(1, m + gap)), values(static_cast<std::size_t>(ld * n) + 1, T(gap_mark)) {}

    T& operator()(Index i, Index j) { return values[static_cast<std::size_t>(i + j * ld)]; }
    const T& operator()(Index i, Index j) const { return values[static_cast<std::size_t>(i + j * ld)]; }
    View<T> view() { return View<T>::column_major(values.data(), m, n, ld); }

    bool gap_untouched() const {
        for (Index j = 0; j < n; ++j) {
            for (Index i = m; i < ld; ++i) {
                if ((*this)(i, j) != T(gap_mark)) return false;
            }
        }
        return values.back() == T(gap_mark);
    }

    Index m, n, ld;
    std::vector<T> values;
};

/// Uniform in [-0.5, 0.5).
template <class T>
Dense<T> random_dense(Index m, Index n, unsigned seed, Index gap = 0) {
    Dense<T> a(m, n, gap);
    std::mt19937 random(seed);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m; ++i) a(i, j) = static_cast<T>(random() * 0x1p-32 - 0.5);
    }
    return a;
}

template <class T>
Dense<T> generated(std::string_view name, Index m, Index n, unsigned seed = 1) {
    Dense<T> a(m, n);
    if (m > 0 && n > 0) basalt::make_generator<T>(name, m, n, seed)->fill(a.view(), 0, 0);
    return a;
}

/// A = P L U with |L(i, j)| <= 1/4 below the diagonal: the pivot of each step is about four times as large as
/// every other candidate, so any correct code finds the same ones.
template <class T>
Dense<T> well_separated(Index m, Index n, unsigned seed) {
    const Index k = std::min(m, n);
    Dense<double> l = random_dense<double>(m, k, seed), u = random_dense<double>(k, n, seed + 1);
    for (double& x : l.values) x /= 2;
    for (double& x : u.values) x /= 2;
    for (Index i = 0; i < k; ++i) l(i, i) = 1, u(i, i) += 1;
    std::vector<Index> order(static_cast<std::size_t>(m));
    for (Index i = 0; i < m; ++i) order[static_cast<std::size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), std::mt19937(seed + 2));
    Dense<T> a(m, n);
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
            double sum = 0;
            for (Index q = 0; q < std::min({i + 1, j + 1, k}); ++q) sum += l(i, q) * u(q, j);
            a(order[static_cast<std::size_t>(i)], j) = static_cast<T>(sum);
        }
    }
    return a;
}

/// Incidence matrix of a random directed graph of min(m, n) nodes: +1 and -1 in each column, so its rank is
/// below min(m, n). Every square submatrix has determinant 0 or +-1, also when rows or columns are repeated:
/// whatever the pivots, elements stay 0 or +-1 and the elimination is exact, with ties at every step
/// (Schrijver, "Theory of linear and integer programming", chapter 19).
template <class T>
Dense<T> incidence(Index m, Index n, unsigned seed) {
    Dense<T> a(m, n);
    std::mt19937 random(seed);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m; ++i) a(i, j) = 0;
        const Index nodes = std::min(m, n);
        const auto from = static_cast<Index>(random()) % nodes;
        a(from, j) = 1;
        a((from + 1 + static_cast<Index>(random()) % std::max<Index>(nodes - 1, 1)) % nodes, j) = -1;
    }
    return a;
}

/// A factorization in LAPACK's arrangement; pivots count from 1.
template <class T>
struct Factored {
    Dense<T> lu;
    std::vector<Index> pivots;
    Index info;
};

template <class T>
Factored<T> lapack_getrf(const Dense<T>& a) {
    Factored<T> result{a, {}, 0};
    const auto m = static_cast<lapack_int>(a.m), n = static_cast<lapack_int>(a.n), ld = static_cast<lapack_int>(a.ld);
    std::vector<lapack_int> pivots(static_cast<std::size_t>(std::min(m, n)) + 1);
    if constexpr (std::is_same_v<T, float>) {
        result.info = LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, m, n, result.lu.values.data(), ld, pivots.data());
    } else {
        result.info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, n, result.lu.values.data(), ld, pivots.data());
    }
    result.pivots.assign(pivots.begin(), pivots.end() - 1);
    return result;
}

template <class T>
struct Solved {
    Dense<T> lu;
    Dense<T> x;
    std::vector<Index> pivots;
    Index info;
};

template <class T>
Solved<T> lapack_gesv(const Dense<T>& a, const Dense<T>& b) {
    Solved<T> result{a, b, {}, 0};
    const auto n = static_cast<lapack_int>(a.n), nrhs = static_cast<lapack_int>(b.n);
    const auto lda = static_cast<lapack_int>(a.ld), ldb = static_cast<lapack_int>(b.ld);
    std::vector<lapack_int> pivots(static_cast<std::size_t>(n) + 1);
    if constexpr (std::is_same_v<T, float>) {
        result.info = LAPACKE_sgesv_work(LAPACK_COL_MAJOR, n, nrhs, result.lu.values.data(), lda, pivots.data(),
                                         result.x.values.data(), ldb);
    } else {
        result.info = LAPACKE_dgesv_work(LAPACK_COL_MAJOR, n, nrhs, result.lu.values.data(), lda, pivots.data(),
                                         result.x.values.data(), ldb);
    }
    result.pivots.assign(pivots.begin(), pivots.end() - 1);
    return result;
}

/// max_j sum_i |a_ij|; NaN where an element is.
template <class T>
double one_norm(const Dense<T>& a) {
    double norm = 0;
    for (Index j = 0; j < a.n; ++j) {
        double sum = 0;
        for (Index i = 0; i < a.m; ++i) sum += std::abs(static_cast<double>(a(i, j)));
        if (!(sum <= norm)) norm = sum;
    }
    return norm;
}

/// C -= A B, all in double.
inline void subtract_product(Dense<double>& c, const Dense<double>& a, const Dense<double>& b) {
    if (c.m == 0 || c.n == 0 || a.n == 0) return;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(c.m), static_cast<int>(c.n),
                static_cast<int>(a.n), -1, a.values.data(), static_cast<int>(a.ld), b.values.data(),
                static_cast<int>(b.ld), 1, c.values.data(), static_cast<int>(c.ld));
}

template <class T>
Dense<double> in_double(const Dense<T>& a) {
    Dense<double> result(a.m, a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) result(i, j) = static_cast<double>(a(i, j));
    }
    return result;
}

template <class T>
double largest_difference(const Dense<T>& a, const Dense<T>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        largest = std::max(largest, std::abs(double(a.values[i]) - double(b.values[i])));
    }
    return largest;
}

/// LAPACK's "epsilon": the unit roundoff.
template <class T>
inline constexpr double roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

/// error / scale, where 0 / 0 is 0.
inline double ratio_of(double error, double scale) { return error == 0 ? 0 : error / scale; }

/// LAPACK's test ratio of a factorization (dget01): ||P^T A - L U|| / (n ||A|| eps) in the one-norm.
template <class T>
double factor_ratio(const Dense<T>& a, const Dense<T>& lu, const std::vector<Index>& pivots) {
    const Index m = a.m, n = a.n, k = std::min(m, n);
    Dense<double> difference = in_double(a), l(m, k), u(k, n);
    for (Index step = 0; step < k; ++step) {
        const Index row = pivots[static_cast<std::size_t>(step)] - 1;
        for (Index j = 0; j < n; ++j) std::swap(difference(step, j), difference(row, j));
    }
    for (Index j = 0; j < k; ++j) {
        for (Index i = 0; i < m; ++i) l(i, j) = i < j ? 0 : i == j ? 1 : static_cast<double>(lu(i, j));
    }
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < k; ++i) u(i, j) = i <= j ? static_cast<double>(lu(i, j)) : 0;
    }
    subtract_product(difference, l, u);
    return ratio_of(one_norm(difference), static_cast<double>(std::max<Index>(n, 1)) * one_norm(a) * roundoff<T>);
}

/// ||B - A X|| / (n ||A|| ||X|| eps), the largest over the columns of B.
template <class T>
double solve_ratio(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
    Dense<double> residual = in_double(b);
    subtract_product(residual, in_double(a), in_double(x));
    const double norm = static_cast<double>(a.n) * one_norm(a) * roundoff<T>;
    double worst = 0;
    for (Index j = 0; j < x.n; ++j) {
        double error = 0, size = 0;
        for (Index i = 0; i < x.m; ++i) {
            error += std::abs(residual(i, j));
            size += std::abs(static_cast<double>(x(i, j)));
        }
        const double ratio = ratio_of(error, norm * size);
        if (!(ratio <= worst)) worst = ratio;
    }
    return worst;
}

/// max |L(i, j)| below the diagonal; NaN where one is.
template <class T>
double largest_multiplier(const Dense<T>& lu) {
    double largest = 0;
    for (Index j = 0; j < std::min(lu.m, lu.n); ++j) {
        for (Index i = j + 1; i < lu.m; ++i) {
            const double magnitude = std::abs(static_cast<double>(lu(i, j)));
            if (!(magnitude <= largest)) largest = magnitude;
        }
    }
    return largest;
}

}  // namespace basalt_tests
