#pragma once

// What the Cholesky tests share: LAPACK's potrf as the oracle, its ratios, and factorizations from array to array.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"
#include "tests/common/same_numbers.hpp"

namespace basalt_tests {

using basalt::CholeskyOptions;
using basalt::Config;
using basalt::FactorMode;
using basalt::Matrix;
using basalt::Runtime;
using basalt::TileShape;
using basalt::Triangle;

inline constexpr Triangle both_triangles[] = {Triangle::lower, Triangle::upper};

inline const char* text(Triangle triangle) { return triangle == Triangle::lower ? "lower" : "upper"; }

/// Whether (i, j) is on the other side of the diagonal.
inline bool outside(Triangle triangle, Index i, Index j) { return triangle == Triangle::lower ? i < j : i > j; }

/// Random and positive definite, with NaN where the triangle is not.
template <class T>
Dense<T> spd_dense(Triangle triangle, Index n, unsigned seed, Index gap = 0) {
    Dense<T> a(n, n, gap);
    if (n > 0) basalt::make_generator<T>("spd", n, n, seed)->fill(a.view(), 0, 0);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            if (outside(triangle, i, j)) a(i, j) = std::numeric_limits<T>::quiet_NaN();
        }
    }
    return a;
}

/// Q D Q^T with eigenvalues from 1 down to 1 / condition, in double.
inline Dense<double> conditioned(Index n, double condition, unsigned seed) {
    const Dense<double> g = random_dense<double>(n, n, seed);
    Dense<double> q = g, a(n, n);
    // Gram-Schmidt twice: orthogonal to working precision
    for (Index j = 0; j < n; ++j) {
        for (int again = 0; again < 2; ++again) {
            for (Index k = 0; k < j; ++k) {
                double dot = 0;
                for (Index i = 0; i < n; ++i) dot += q(i, k) * q(i, j);
                for (Index i = 0; i < n; ++i) q(i, j) -= dot * q(i, k);
            }
        }
        double norm = 0;
        for (Index i = 0; i < n; ++i) norm += q(i, j) * q(i, j);
        for (Index i = 0; i < n; ++i) q(i, j) /= std::sqrt(norm);
    }
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) {
            double sum = 0;
            for (Index k = 0; k < n; ++k) {
                const double exponent = n > 1 ? static_cast<double>(k) / static_cast<double>(n - 1) : 0;
                sum += q(i, k) * std::pow(condition, -exponent) * q(j, k);
            }
            a(i, j) = a(j, i) = sum;
        }
    }
    return a;
}

template <class T>
Dense<T> rounded(const Dense<double>& a) {
    Dense<T> result(a.m, a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) result(i, j) = static_cast<T>(a(i, j));
    }
    return result;
}

template <class T>
struct CholeskyResult {
    Dense<T> factor;
    Index info;
};

template <class T>
CholeskyResult<T> lapack_potrf(Triangle triangle, const Dense<T>& a) {
    CholeskyResult<T> result{a, 0};
    const char uplo = triangle == Triangle::lower ? 'L' : 'U';
    const auto n = static_cast<lapack_int>(a.n), ld = static_cast<lapack_int>(a.ld);
    if constexpr (std::is_same_v<T, float>) {
        result.info = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, uplo, n, result.factor.values.data(), ld);
    } else {
        result.info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, uplo, n, result.factor.values.data(), ld);
    }
    return result;
}

/// The solutions of A X = B by LAPACK's posv.
template <class T>
Dense<T> lapack_posv(Triangle triangle, const Dense<T>& a, const Dense<T>& b) {
    Dense<T> factor = a, x = b;
    const char uplo = triangle == Triangle::lower ? 'L' : 'U';
    const auto n = static_cast<lapack_int>(a.n), nrhs = static_cast<lapack_int>(b.n);
    const auto lda = static_cast<lapack_int>(a.ld), ldb = static_cast<lapack_int>(b.ld);
    lapack_int info = 0;
    if constexpr (std::is_same_v<T, float>) {
        info = LAPACKE_sposv_work(LAPACK_COL_MAJOR, uplo, n, nrhs, factor.values.data(), lda, x.values.data(), ldb);
    } else {
        info = LAPACKE_dposv_work(LAPACK_COL_MAJOR, uplo, n, nrhs, factor.values.data(), lda, x.values.data(), ldb);
    }
    CHECK(info == 0);
    return x;
}

/// The symmetric matrix that a triangle stands for, and the factor L with zeros right of the diagonal.
template <class T>
Dense<double> symmetric(Triangle triangle, const Dense<T>& a) {
    Dense<double> full(a.n, a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = j; i < a.n; ++i) {
            full(i, j) = full(j, i) = static_cast<double>(triangle == Triangle::lower ? a(i, j) : a(j, i));
        }
    }
    return full;
}
template <class T>
Dense<double> lower_factor(Triangle triangle, const Dense<T>& factor, bool transposed = false) {
    Dense<double> l(factor.n, factor.n);
    for (Index j = 0; j < factor.n; ++j) {
        for (Index i = 0; i < factor.n; ++i) {
            const double value =
                i < j ? 0 : static_cast<double>(triangle == Triangle::lower ? factor(i, j) : factor(j, i));
            (transposed ? l(j, i) : l(i, j)) = value;
        }
    }
    return l;
}

/// LAPACK's test ratio (dpot01): ||A - L L^T|| / (n ||A|| eps) in the one-norm.
template <class T>
double cholesky_ratio(Triangle triangle, const Dense<T>& a, const Dense<T>& factor) {
    Dense<double> difference = symmetric(triangle, a);
    const double norm = one_norm(difference);
    subtract_product(difference, lower_factor(triangle, factor), lower_factor(triangle, factor, true));
    return ratio_of(one_norm(difference), static_cast<double>(std::max<Index>(a.n, 1)) * norm * roundoff<T>);
}

/// Elements on the other side of the diagonal have the bits they had.
template <class T>
bool other_side_untouched(Triangle triangle, const Dense<T>& before, const Dense<T>& after) {
    for (Index j = 0; j < before.n; ++j) {
        for (Index i = 0; i < before.n; ++i) {
            if (!outside(triangle, i, j)) continue;
            if (!same_number(before(i, j), after(i, j))) return false;
        }
    }
    return true;
}

template <class T>
CholeskyResult<T> factor(Runtime& runtime, Triangle triangle, const Dense<T>& a, TileShape tile,
                         const CholeskyOptions& options, basalt::Deal deal = basalt::Deal::balanced) {
    auto matrix = Matrix<T>::from_columns(runtime, a.values.data(), a.m, a.n, a.ld, tile);
    matrix.set_deal(deal);
    const auto cholesky = cholesky_factor(runtime, matrix, triangle, options);
    CholeskyResult<T> result{a, 0};
    matrix.store(result.factor.view());
    runtime.wait();
    result.info = cholesky.info();
    return result;
}

template <class T>
void check_cholesky(Triangle triangle, const Dense<T>& a, const CholeskyResult<T>& got) {
    CHECK(got.info == 0);
    CHECK(cholesky_ratio(triangle, a, got.factor) < 30);
    CHECK(other_side_untouched(triangle, a, got.factor));
}

/// A pivot made negative, zero, or NaN in column `where`: INFO is its number, counted from 1.
template <class T>
void check_info(Runtime& runtime, Index n, TileShape tile, const CholeskyOptions& options,
                const std::vector<Index>& places) {
    for (const Triangle triangle : both_triangles) {
        for (const Index where : places) {
            Dense<T> a = spd_dense<T>(triangle, n, 3);
            a(where, where) = T{-1};
            INFO(text(triangle) << ", n = " << n << ", pivot " << where);
            const Index expected = lapack_potrf(triangle, a).info;
            REQUIRE(expected == where + 1);
            CHECK(factor(runtime, triangle, a, tile, options).info == expected);
            if (where + 1 < n) {  // the first of two is reported
                a(n - 1, n - 1) = T{-5};
                CHECK(factor(runtime, triangle, a, tile, options).info == expected);
            }
            // LAPACK's reference dpotrf stops at a NaN on the diagonal too; OpenBLAS's does not
            a(where, where) = std::numeric_limits<T>::quiet_NaN();
            CHECK(factor(runtime, triangle, a, tile, options).info == expected);
            // a NaN left of the diagonal reaches the pivot of its row in the factor
            a = spd_dense<T>(triangle, n, 3);
            const Index col = where / 2;
            (triangle == Triangle::lower ? a(where, col) : a(col, where)) = std::numeric_limits<T>::quiet_NaN();
            CHECK(factor(runtime, triangle, a, tile, options).info == where + 1);
            // so does an infinity, which makes the pivot minus infinity or NaN
            (triangle == Triangle::lower ? a(where, col) : a(col, where)) = std::numeric_limits<T>::infinity();
            if (col != where) CHECK(factor(runtime, triangle, a, tile, options).info == where + 1);
        }
        const Dense<T> zero = generated<T>("zero", n, n);
        CHECK(factor(runtime, triangle, zero, tile, options).info == lapack_potrf(triangle, zero).info);
    }
}

/// potrf and posv on the user's arrays: the triangle and B as they shall be, and nothing else touched.
template <class T>
void check_on_arrays(Runtime& runtime, Triangle triangle, const Dense<T>& a, const Dense<T>& b) {
    CholeskyResult<T> got{a, 0};
    got.info = cholesky_factor(runtime, triangle, a.n, got.factor.values.data(), a.ld);
    check_cholesky(triangle, a, got);
    CHECK(got.factor.gap_untouched());

    CholeskyResult<T> solved{a, 0};
    Dense<T> x = b;
    solved.info = cholesky_solve(runtime, triangle, a.n, b.n, solved.factor.values.data(), a.ld, x.values.data(), x.ld);
    check_cholesky(triangle, a, solved);
    CHECK(x.gap_untouched());
    CHECK(solve_ratio(rounded<T>(symmetric(triangle, a)), x, b) < 30);
}

/// Ill-conditioned matrices: the ratio stays LAPACK's.
template <class T>
void check_ill_conditioned(Runtime& runtime, Index n, TileShape tile, const CholeskyOptions& options) {
    const double largest = sizeof(T) == 4 ? 1e5 : 1e13;
    for (const double condition : {1e2, std::sqrt(largest) * 10, largest}) {
        const Dense<T> a = rounded<T>(conditioned(n, condition, 5));
        for (const Triangle triangle : both_triangles) {
            const CholeskyResult<T> expected = lapack_potrf(triangle, a);
            REQUIRE(expected.info == 0);
            const CholeskyResult<T> got = factor(runtime, triangle, a, tile, options);
            INFO(text(triangle) << ", condition " << condition << ", ratio " << cholesky_ratio(triangle, a, got.factor)
                                << ", LAPACK's " << cholesky_ratio(triangle, a, expected.factor));
            check_cholesky(triangle, a, got);
        }
    }
}

}  // namespace basalt_tests
