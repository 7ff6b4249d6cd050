#pragma once

// LAPACK as the oracle of the QR tests: LAPACKE's results, its ratios, and matrices that are hard for QR.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"

namespace basalt_tests {

/// Factors in LAPACK's form.
template <class T>
struct QrResult {
    Dense<T> a;
    std::vector<T> tau;
};

inline lapack_int lapack(Index value) { return static_cast<lapack_int>(value); }

template <class T>
QrResult<T> lapack_geqrf(const Dense<T>& a) {
    QrResult<T> result{a, std::vector<T>(static_cast<std::size_t>(std::min(a.m, a.n)) + 1)};
    if constexpr (std::is_same_v<T, float>) {
        LAPACKE_sgeqrf(LAPACK_COL_MAJOR, lapack(a.m), lapack(a.n), result.a.values.data(), lapack(a.ld),
                       result.tau.data());
    } else {
        LAPACKE_dgeqrf(LAPACK_COL_MAJOR, lapack(a.m), lapack(a.n), result.a.values.data(), lapack(a.ld),
                       result.tau.data());
    }
    result.tau.pop_back();
    return result;
}

/// C = op(Q) C or C op(Q) by LAPACK, with factors of anybody's.
template <class T>
Dense<T> lapack_ormqr(char side, char op, const QrResult<T>& f, Dense<T> c) {
    const Index k = std::min(f.a.m, f.a.n);
    std::vector<T> tau = f.tau;
    tau.push_back(0);
    lapack_int info = 0;
    if constexpr (std::is_same_v<T, float>) {
        info = LAPACKE_sormqr(LAPACK_COL_MAJOR, side, op, lapack(c.m), lapack(c.n), lapack(k), f.a.values.data(),
                              lapack(f.a.ld), tau.data(), c.values.data(), lapack(c.ld));
    } else {
        info = LAPACKE_dormqr(LAPACK_COL_MAJOR, side, op == 'C' ? 'T' : op, lapack(c.m), lapack(c.n), lapack(k),
                              f.a.values.data(), lapack(f.a.ld), tau.data(), c.values.data(), lapack(c.ld));
    }
    REQUIRE(info == 0);
    return c;
}

/// The first `cols` columns of Q by LAPACK's orgqr, cols >= min(m, n).
template <class T>
Dense<T> lapack_orgqr(const QrResult<T>& f, Index cols) {
    const Index k = std::min(f.a.m, f.a.n);
    Dense<T> q(f.a.m, cols);
    for (Index j = 0; j < cols; ++j) {
        for (Index i = 0; i < q.m; ++i) q(i, j) = j < k ? f.a(i, j) : T{0};
    }
    std::vector<T> tau = f.tau;
    tau.push_back(0);
    lapack_int info = 0;
    if constexpr (std::is_same_v<T, float>) {
        info = LAPACKE_sorgqr(LAPACK_COL_MAJOR, lapack(q.m), lapack(cols), lapack(k), q.values.data(), lapack(q.ld),
                              tau.data());
    } else {
        info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, lapack(q.m), lapack(cols), lapack(k), q.values.data(), lapack(q.ld),
                              tau.data());
    }
    REQUIRE(info == 0);
    return q;
}

/// The X of least squares or least norm by LAPACK.
template <class T>
Dense<T> lapack_gels(Dense<T> a, Dense<T> b) {
    lapack_int info = 0;
    if constexpr (std::is_same_v<T, float>) {
        info = LAPACKE_sgels(LAPACK_COL_MAJOR, 'N', lapack(a.m), lapack(a.n), lapack(b.n), a.values.data(),
                             lapack(a.ld), b.values.data(), lapack(b.ld));
    } else {
        info = LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', lapack(a.m), lapack(a.n), lapack(b.n), a.values.data(),
                             lapack(a.ld), b.values.data(), lapack(b.ld));
    }
    REQUIRE(info == 0);
    return b;
}

/// The elements divided by the largest magnitude of their column, as far as that is a number above zero: what makes
/// ratios of matrices of any scale.
template <class T>
void equilibrate(const Dense<T>& a, Dense<double>& scaled) {
    for (Index j = 0; j < a.n; ++j) {
        double most = 0;
        for (Index i = 0; i < a.m; ++i) most = std::max(most, std::abs(static_cast<double>(a(i, j))));
        const double factor = most > 0 && std::isfinite(most) ? most : 1;
        for (Index i = 0; i < scaled.m; ++i) scaled(i, j) /= factor;
    }
}

/// Rows and columns of matrices of every form.
inline constexpr std::array<std::array<Index, 2>, 18> qr_shapes{{{0, 0},
                                                                 {0, 5},
                                                                 {5, 0},
                                                                 {1, 1},
                                                                 {1, 40},
                                                                 {40, 1},
                                                                 {2, 2},
                                                                 {17, 17},
                                                                 {32, 32},
                                                                 {33, 33},
                                                                 {67, 67},
                                                                 {200, 33},
                                                                 {33, 200},
                                                                 {64, 65},
                                                                 {300, 96},
                                                                 {96, 300},
                                                                 {129, 127},
                                                                 {700, 40}}};

struct QrRatios {
    double residual;       ///< ||A - Q R||_1 / (m ||A||_1 eps), columns of A scaled to 1
    double orthogonality;  ///< ||I - Q^T Q||_1 / (m eps)
};

/// LAPACK's ratios (dqrt01) of A = Q R in double; Q has min(m, n) columns, and R is above the diagonal of `factors`.
template <class T>
QrRatios qr_ratios(const Dense<T>& a, const Dense<double>& q, const Dense<double>& factors) {
    const Index m = a.m, n = a.n, k = std::min(m, n);
    if (k == 0) return {0, 0};
    Dense<double> difference = in_double(a), r(k, n), exact = in_double(a);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < k; ++i) r(i, j) = i <= j ? factors(i, j) : 0;
    }
    equilibrate(a, difference);
    equilibrate(a, r);
    equilibrate(a, exact);
    subtract_product(difference, q, r);
    Dense<double> gram(k, k), transpose(k, m);
    for (Index j = 0; j < k; ++j) {
        for (Index i = 0; i < k; ++i) gram(i, j) = i == j;
        for (Index i = 0; i < m; ++i) transpose(j, i) = q(i, j);
    }
    subtract_product(gram, transpose, q);
    const double scale = static_cast<double>(m) * roundoff<T>;
    return {ratio_of(one_norm(difference), scale * one_norm(exact)), ratio_of(one_norm(gram), scale)};
}

/// Q formed by LAPACK's orgqr.
template <class T>
QrRatios qr_ratios(const Dense<T>& a, const QrResult<T>& f) {
    const Index k = std::min(a.m, a.n);
    if (k == 0) return {0, 0};
    return qr_ratios(a, in_double(lapack_orgqr(f, k)), in_double(f.a));
}

inline void check_qr_ratios(const QrRatios& ratios) {
    CHECK(ratios.residual < 30);
    CHECK(ratios.orthogonality < 30);
}

template <class T>
void check_qr(const Dense<T>& a, const QrResult<T>& f) {
    check_qr_ratios(qr_ratios(a, f));
}

/// A factorization of ours from array to array.
template <class T>
QrResult<T> factor_qr(basalt::Runtime& rt, const Dense<T>& a, basalt::TileShape tile,
                      const basalt::QrOptions& options) {
    auto tiles = basalt::Matrix<T>::from_columns(rt, a.values.data(), a.m, a.n, a.ld, tile);
    const auto qr = basalt::qr_factor(rt, tiles, options);
    QrResult<T> result{Dense<T>(a.m, a.n), {}};
    tiles.store(result.a.view());
    rt.wait();
    result.tau = qr.tau();
    return result;
}

/// The X of least squares, or of least norm, is LAPACK's for these right-hand sides (max(m, n) rows) up to rounding.
template <class T>
void check_gels(const Dense<T>& a, const Dense<T>& b, const Dense<T>& x) {
    const Dense<T> expected = lapack_gels(a, b);
    double error = 0, size = 0;
    for (Index j = 0; j < b.n; ++j) {
        for (Index i = 0; i < a.n; ++i) {
            const double difference = std::abs(double(x(i, j)) - double(expected(i, j)));
            if (!(difference <= error)) error = difference;  // also where it is NaN
            size = std::max(size, double(std::abs(expected(i, j))));
        }
    }
    CHECK(error <= 20000 * roundoff<T> * size);
}

/// least_squares() of matrices in tiles, 3 right-hand sides. A stays where there are fewer equations than unknowns.
template <class T>
void check_gels_in_tiles(basalt::Runtime& rt, Index m, Index n, basalt::TileShape tile,
                         const basalt::QrOptions& options) {
    const Dense<T> a = random_dense<T>(m, n, 23), b = random_dense<T>(std::max(m, n), 3, 24);
    Dense<T> left = a, x = b;
    auto tiles = basalt::Matrix<T>::from_columns(rt, a.values.data(), m, n, a.ld, tile);
    auto sides = basalt::Matrix<T>::from_columns(rt, b.values.data(), b.m, b.n, b.ld, {32, 16});
    const auto qr = basalt::least_squares(rt, tiles, sides, options);
    tiles.store(left.view());
    sides.store(x.view());
    rt.wait();
    INFO(m << " x " << n << ", tiles " << tile.height << " x " << tile.width);
    CHECK(qr.rows() == std::max(m, n));
    CHECK(qr.cols() == std::min(m, n));
    CHECK(qr.info() == 0);
    check_gels(a, b, x);
    if (m < n) CHECK(left.values == a.values);
}

/// Matrices that make Gram matrices, norms or reflectors fail; `what` names them.
template <class T>
struct HardMatrix {
    std::string what;
    Dense<T> a;
};

template <class T>
std::vector<HardMatrix<T>> hard_matrices(Index m, Index n) {
    std::vector<HardMatrix<T>> all;
    const Dense<T> random = random_dense<T>(m, n, 17);
    const auto add = [&](const std::string& what, const auto& change) {
        Dense<T> a = random;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m; ++i) a(i, j) = change(i, j, a(i, j));
        }
        all.push_back({what, a});
    };
    constexpr bool single = std::is_same_v<T, float>;
    const double tiny = single ? 1e-36 : 1e-300, huge = single ? 1e36 : 1e300;
    const Index k = std::min(m, n);
    add("duplicate columns", [&](Index i, Index j, T) { return random(i, j / 3); });
    add("equal columns", [&](Index i, Index, T) { return random(i, 0); });
    add("zero columns", [&](Index, Index j, T x) { return j % 4 == 1 ? T{0} : x; });
    add("zeros", [&](Index, Index, T) { return T{0}; });
    add("tiny", [&](Index, Index, T x) { return static_cast<T>(x * tiny); });
    add("huge", [&](Index, Index, T x) { return static_cast<T>(x * huge); });
    add("columns of all scales", [&](Index, Index j, T x) {
        return static_cast<T>(x * std::pow(10.0, (single ? 30.0 : 280.0) * (2.0 * double(j % 7) / 6 - 1)));
    });
    // condition 1e18: the columns come ever closer to the first
    add("ever closer columns", [&](Index i, Index j, T x) {
        return static_cast<T>(double(random(i, 0)) +
                              double(x) * std::pow(10.0, -18.0 * double(j) / double(std::max<Index>(k - 1, 1))));
    });
    add("graded rows",
        [&](Index i, Index, T x) { return static_cast<T>(x * std::pow(10.0, -18.0 * double(i) / double(m))); });
    add("a triangle", [&](Index i, Index j, T x) { return i <= j ? x : T{0}; });
    add("the unit matrix", [&](Index i, Index j, T) { return static_cast<T>(i == j); });
    add("powers",
        [&](Index i, Index j, T) { return static_cast<T>(std::pow((double(i) + 1) / double(m), double(j % 40))); });
    all.push_back({"hilbert", generated<T>("hilbert", m, n)});
    return all;
}

}  // namespace basalt_tests
