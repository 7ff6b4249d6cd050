// QR on CPU cores, against LAPACK.
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/common/shown.hpp"
#include "tests/tasks/qr/qr_oracle.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

struct QrLayout {
    TileShape tile;
    std::optional<Index> panel_width;
    std::optional<int> panel_threads, lookahead;
};

const std::array<QrLayout, 6> layouts{{{{32, 32}, 32, 1, 1},
                                       {{32, 32}, 8, 2, 1},
                                       {{32, 48}, 20, 2, 0},
                                       {{8, 32}, 100, 3, 3},
                                       {{512, 512}, 40, 2, 2},
                                       {{}, {}, {}, {}}}};

QrOptions options_of(const QrLayout& layout) {
    QrOptions options;
    options.mode = QrMode::cpu;
    options.panel_width = layout.panel_width;
    options.panel_threads = layout.panel_threads;
    options.lookahead = layout.lookahead;
    return options;
}

std::string text(const QrLayout& l) {
    return "tile " + std::to_string(l.tile.height) + "x" + std::to_string(l.tile.width) + ", panel " +
           shown(l.panel_width) + " by " + shown(l.panel_threads);
}

Config with_workers(int workers) {
    Config config;
    config.workers = workers;
    return config;
}

}  // namespace

TEMPLATE_TEST_CASE("QR of any shape has LAPACK's ratios with any tiles, panels and workers", "[qr]", float, double) {
    using T = TestType;
    for (const int workers : {1, 2, 5}) {
        Runtime rt(with_workers(workers));
        for (const auto& [m, n] : qr_shapes) {
            const Dense<T> a = random_dense<T>(m, n, static_cast<unsigned>(m * 1000 + n));
            for (const QrLayout& layout : layouts) {
                INFO(m << " x " << n << ", " << text(layout) << ", " << workers << " workers");
                check_qr(a, factor_qr(rt, a, layout.tile, options_of(layout)));
            }
        }
    }
}

TEMPLATE_TEST_CASE("QR of a random matrix has LAPACK's factors up to rounding", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{150, 100}, {100, 150}, {90, 90}}) {
        const Dense<T> a = random_dense<T>(m, n, 9);
        const QrResult<T> expected = lapack_geqrf(a);
        for (const QrLayout& layout : layouts) {
            INFO(m << " x " << n << ", " << text(layout));
            const QrResult<T> got = factor_qr(rt, a, layout.tile, options_of(layout));
            double error = 0;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) error = std::max(error, double(std::abs(got.a(i, j) - expected.a(i, j))));
            }
            for (std::size_t k = 0; k < got.tau.size(); ++k)
                error = std::max(error, double(std::abs(got.tau[k] - expected.tau[k])));
            CHECK(error < 3000 * roundoff<T>);
        }
    }
}

TEMPLATE_TEST_CASE("QR of ill-conditioned, deficient and badly scaled matrices keeps residual and orthogonality",
                   "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{140, 140}, {300, 70}, {70, 150}}) {
        for (const HardMatrix<T>& hard : hard_matrices<T>(m, n)) {
            for (const QrLayout& layout : {layouts[0], layouts[2]}) {
                INFO(hard.what << ", " << m << " x " << n << ", " << text(layout));
                check_qr(hard.a, factor_qr(rt, hard.a, layout.tile, options_of(layout)));
            }
        }
    }
}

TEMPLATE_TEST_CASE("LAPACK's ormqr and ours agree on our factors", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{90, 60}, {60, 90}, {1, 1}, {45, 45}, {200, 7}}) {
        const Dense<T> a = random_dense<T>(m, n, 21);
        auto tiles = Matrix<T>::from_columns(rt, a.values.data(), m, n, a.ld, {32, 32});
        const QrLayout layout{{32, 32}, 12, 2, 1};
        const auto qr = qr_factor(rt, tiles, options_of(layout));
        QrResult<T> f{Dense<T>(m, n), qr.tau()};
        tiles.store(f.a.view());
        rt.wait();
        for (const QrSide side : {QrSide::left, QrSide::right}) {
            for (const QrOp op : {QrOp::plain, QrOp::transposed}) {
                const Index other = 37;
                const Dense<T> c = side == QrSide::left ? random_dense<T>(m, other, 5) : random_dense<T>(other, m, 5);
                const Dense<T> expected =
                    lapack_ormqr(side == QrSide::left ? 'L' : 'R', op == QrOp::plain ? 'N' : 'T', f, c);
                auto ours = Matrix<T>::from_columns(rt, c.values.data(), c.m, c.n, c.ld, {24, 16});
                qr_apply(rt, qr, side, op, ours);
                Dense<T> got(c.m, c.n);
                ours.store(got.view());
                rt.wait();
                Dense<T> by_arrays = c;
                qr_apply<T>(rt, side, op, c.m, c.n, std::min(m, n), f.a.values.data(), f.a.ld, f.tau.data(),
                            by_arrays.values.data(), by_arrays.ld);
                double error = 0;
                for (Index j = 0; j < c.n; ++j) {
                    for (Index i = 0; i < c.m; ++i) {
                        error = std::max({error, double(std::abs(got(i, j) - expected(i, j))),
                                          double(std::abs(by_arrays(i, j) - expected(i, j)))});
                    }
                }
                INFO(m << " x " << n << ", " << (side == QrSide::left ? "left " : "right ")
                       << (op == QrOp::plain ? "" : "transposed"));
                CHECK(error < 100 * roundoff<T>);
            }
        }
    }
}

TEMPLATE_TEST_CASE("Q is formed as LAPACK's orgqr forms it", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{90, 60}, {60, 90}, {45, 45}, {130, 1}, {0, 3}}) {
        const Dense<T> a = random_dense<T>(m, n, 22);
        auto tiles = Matrix<T>::from_columns(rt, a.values.data(), m, n, a.ld, {32, 32});
        const auto qr = qr_factor(rt, tiles, options_of({{}, 12, 2, 1}));
        QrResult<T> f{Dense<T>(m, n), qr.tau()};
        tiles.store(f.a.view());
        rt.wait();
        for (const Index cols : {std::min(m, n), m}) {
            if (m == 0) continue;
            const Dense<T> expected = lapack_orgqr(f, cols);
            const Matrix<T> q = qr_form(rt, qr, cols);
            Dense<T> got(m, cols), in_place(m, cols);
            q.store(got.view());
            rt.wait();
            for (Index j = 0; j < std::min(m, n); ++j) {
                for (Index i = 0; i < m; ++i) in_place(i, j) = f.a(i, j);
            }
            qr_form<T>(rt, m, cols, std::min(m, n), in_place.values.data(), in_place.ld, f.tau.data());
            double error = 0;
            for (Index j = 0; j < cols; ++j) {
                for (Index i = 0; i < m; ++i) {
                    error = std::max({error, double(std::abs(got(i, j) - expected(i, j))),
                                      double(std::abs(in_place(i, j) - expected(i, j)))});
                }
            }
            INFO(m << " x " << n << ", " << cols << " columns");
            CHECK(error < 100 * roundoff<T>);
            CHECK(in_place.gap_untouched());
        }
    }
}

namespace {

/// ||A^T (B - A X)||_1 / (||A||_1^2 ||X||_1 max(m, n) eps) for the least squares of a tall A, ||B - A X|| / (...) for a
/// wide one.
template <class T>
double least_squares_ratio(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
    Dense<double> residual = in_double(b), exact = in_double(a), solution(a.n, x.n);
    for (Index j = 0; j < x.n; ++j) {
        for (Index i = 0; i < a.n; ++i) solution(i, j) = x(i, j);
    }
    subtract_product(residual, exact, solution);
    const double scale = double(std::max(a.m, a.n)) * roundoff<T> * one_norm(a) * one_norm(solution);
    if (a.m <= a.n) return ratio_of(one_norm(residual), scale);
    Dense<double> transpose(a.n, a.m), normal(a.n, x.n);
    for (Index i = 0; i < a.m; ++i) {
        for (Index j = 0; j < a.n; ++j) transpose(j, i) = exact(i, j);
    }
    for (double& entry : normal.values) entry = 0;
    subtract_product(normal, transpose, residual);
    return ratio_of(one_norm(normal), scale * one_norm(a));
}

}  // namespace

TEMPLATE_TEST_CASE("least squares and solutions of least norm are LAPACK's", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{90, 60}, {60, 90}, {45, 45}, {300, 2}, {2, 300}, {1, 1}}) {
        for (const Index nrhs : {1, 3, 300}) {
            const Dense<T> a = random_dense<T>(m, n, 23, 2);
            const Dense<T> all = random_dense<T>(std::max(m, n), nrhs, 24, 3);
            Dense<T> b(m, nrhs);
            for (Index j = 0; j < nrhs; ++j) {
                for (Index i = 0; i < m; ++i) b(i, j) = all(i, j);
            }
            Dense<T> factors = a, x = all;
            const Index info =
                least_squares<T>(rt, m, n, nrhs, factors.values.data(), factors.ld, x.values.data(), x.ld);
            INFO(m << " x " << n << ", " << nrhs << " right-hand sides");
            CHECK(info == 0);
            CHECK(factors.gap_untouched());
            CHECK(x.gap_untouched());
            CHECK(least_squares_ratio(a, x, b) < 30);
            check_gels(a, all, x);
        }
    }
}

TEMPLATE_TEST_CASE("least squares and solutions of least norm of matrices in tiles are LAPACK's", "[qr]", float,
                   double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const QrMethod method : {QrMethod::blocked, QrMethod::tile, QrMethod::automatic}) {
        for (const auto& [m, n] :
             {std::array<Index, 2>{90, 60}, {60, 90}, {45, 45}, {300, 2}, {2, 300}, {700, 900}, {1, 1}}) {
            for (const TileShape& tile : {TileShape{32, 24}, {512, 512}}) {
                QrOptions options;
                options.method = method;
                check_gels_in_tiles<T>(rt, m, n, tile, options);
            }
        }
        for (const auto& [m, n] : {std::array<Index, 2>{0, 5}, {5, 0}, {0, 0}})
            check_gels_in_tiles<T>(rt, m, n, {8, 8}, {.method = method});
    }
}

TEST_CASE("least squares of deficient matrices in tiles tell in the factors' info()", "[qr]") {
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{50, 20}, {20, 50}}) {
        Dense<double> a = random_dense<double>(m, n, 3);
        for (Index i = 0; i < std::max(m, n); ++i) (m >= n ? a(i, 7) : a(7, i)) = 0;
        auto tiles = Matrix<double>::from_columns(rt, a.values.data(), m, n, a.ld, {16, 16});
        Matrix<double> b(rt, std::max(m, n), 2);
        CHECK(least_squares(rt, tiles, b).info() == 8);
    }
}

TEST_CASE("least squares of deficient matrices report gels' INFO and leave B alone", "[qr]") {
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{50, 20}, {20, 50}}) {
        Dense<double> a = random_dense<double>(m, n, 3);
        for (Index i = 0; i < std::max(m, n); ++i) (m >= n ? a(i, 7) : a(7, i)) = 0;
        Dense<double> b = random_dense<double>(std::max(m, n), 2, 4);
        const Dense<double> before = b;
        CHECK(least_squares<double>(rt, m, n, 2, a.values.data(), a.ld, b.values.data(), b.ld) == 8);
        CHECK(b.values == before.values);
    }
}

TEST_CASE("least squares of matrices that are empty or zero are LAPACK's gels", "[qr]") {
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{50, 20}, {20, 50}, {9, 9}, {600, 2}, {5, 0}, {0, 5}}) {
        const Dense<double> a = generated<double>("zero", m, n), b = random_dense<double>(std::max(m, n), 2, 4, 3);
        Dense<double> factors = a, x = b;
        INFO(m << " x " << n);
        CHECK(least_squares<double>(rt, m, n, 2, factors.values.data(), factors.ld, x.values.data(), x.ld) == 0);
        CHECK(x.values == lapack_gels(a, b).values);
    }
}

TEST_CASE("a user's own array gets LAPACK's geqrf", "[qr]") {
    Runtime rt(with_workers(2));
    const Dense<double> a = random_dense<double>(80, 50, 3, 5);
    QrResult<double> f{a, std::vector<double>(50)};
    qr_factor<double>(rt, 80, 50, f.a.values.data(), f.a.ld, f.tau.data());
    CHECK(f.a.gap_untouched());
    check_qr(a, f);
}

TEST_CASE("a NaN reaches what is right of its column and nothing left of it", "[qr]") {
    Runtime rt(with_workers(2));
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Dense<double> a = random_dense<double>(120, 100, 3);
        a(100, 53) = bad;
        const QrResult<double> f = factor_qr(rt, a, {32, 32}, options_of({{}, 20, 2, 1}));
        for (std::size_t k = 0; k < f.tau.size(); ++k) CHECK(std::isnan(f.tau[k]) == (k >= 53));
        for (Index j = 0; j < 53; ++j) {
            for (Index i = 0; i < a.m; ++i) CHECK(std::isfinite(f.a(i, j)));
        }
        CHECK(std::isnan(f.a(60, 60)));
    }
}

TEST_CASE("a lookahead beyond the last panel takes no more memory", "[qr]") {
    Runtime rt(with_workers(2));
    const Dense<double> a = random_dense<double>(90, 70, 3);
    check_qr(a, factor_qr(rt, a, {32, 32}, options_of({{}, 16, 1, 1 << 30})));
}

TEST_CASE("wrong use of QR is refused and named", "[qr]") {
    Runtime rt(with_workers(1));
    Matrix<double> a(rt, 10, 6), tall(rt, 9, 2);
    QrOptions options;
    options.panel_width = -1;
    CHECK_THROWS_AS(qr_factor(rt, a, options), UsageError);
    options = {};
    options.mode = QrMode::gpu;
    CHECK_THROWS_AS(qr_factor(rt, a, options), UsageError);
    options = {};
    options.lookahead = -2;
    CHECK_THROWS_AS(qr_factor(rt, a, options), UsageError);
    CHECK_THROWS_AS(QrFactors<double>().tau(), UsageError);
    const auto qr = qr_factor(rt, a);
    CHECK_THROWS_AS(qr_apply(rt, qr, QrSide::left, QrOp::plain, tall), UsageError);
    CHECK_THROWS_AS(qr_solve(rt, qr, tall), UsageError);
    CHECK_THROWS_AS(qr_form(rt, qr, 11), UsageError);
    CHECK_THROWS_WITH(least_squares(rt, a, tall), "least_squares: B has 9 rows; allowed is the larger of A's 10 x 6");
    Matrix<double> wide(rt, 2, 10);
    CHECK_THROWS_AS(least_squares(rt, wide, tall), UsageError);
    Runtime other(with_workers(1));
    Matrix<double> elsewhere(other, 10, 2);
    CHECK_THROWS_AS(least_squares(rt, a, elsewhere), UsageError);
    double x[4] = {};
    CHECK_THROWS_AS(least_squares<double>(rt, 2, 2, 1, x, 1, x, 2), UsageError);
    CHECK_THROWS_AS(qr_factor<double>(rt, -1, 2, x, 1, x), UsageError);
    rt.wait();
}

TEMPLATE_TEST_CASE("tall panels are factored by a tree with LAPACK's ratios and factors", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(3));
    for (const auto& [m, k, threads] :
         {std::array<Index, 3>{20000, 40, 1}, {20000, 40, 2}, {9001, 9, 3}, {700, 7, 2}, {15000, 128, 3}}) {
        const Dense<T> a = random_dense<T>(m, k, 41);
        QrOptions options = options_of({{}, k, static_cast<int>(threads), 1});
        options.tree = QrTree::always;
        const QrResult<T> got = factor_qr(rt, a, {512, k}, options);
        INFO(m << " x " << k << " by " << threads);
        check_qr(a, got);
        const QrResult<T> expected = lapack_geqrf(a);
        double error = 0;
        for (Index j = 0; j < k; ++j) {
            for (Index i = 0; i < m; ++i) error = std::max(error, double(std::abs(got.a(i, j) - expected.a(i, j))));
        }
        CHECK(error < 1e5 * roundoff<T>);
    }
}

TEST_CASE("tall panels that are deficient, ill-conditioned or no numbers keep their ratios with a tree", "[qr]") {
    Runtime rt(with_workers(2));
    const Index m = 9000, k = 16;
    QrOptions options = options_of({{}, k, 2, 1});
    options.tree = QrTree::always;
    for (const HardMatrix<double>& hard : hard_matrices<double>(m, k)) {
        INFO(hard.what);
        check_qr(hard.a, factor_qr(rt, hard.a, {512, k}, options));
    }
    Dense<double> a = random_dense<double>(m, k, 3);
    a(8000, 5) = std::numeric_limits<double>::quiet_NaN();
    const QrResult<double> f = factor_qr(rt, a, {512, k}, options);
    for (std::size_t j = 0; j < f.tau.size(); ++j) CHECK(std::isnan(f.tau[j]) == (j >= 5));
}
