#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <cblas.h>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// solve() on copies of A and B.
template <class T>
Solved<T> solved(Runtime& rt, const Dense<T>& a, const Dense<T>& b) {
    Solved<T> s{a, b, std::vector<Index>(static_cast<std::size_t>(a.n)), 0};
    s.info = solve<T>(rt, a.n, b.n, s.lu.values.data(), s.lu.ld, s.pivots.data(), s.x.values.data(), s.x.ld);
    return s;
}

template <class T>
double max_difference(const Dense<T>& a, const Dense<T>& b) {
    double largest = 0;
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) {
            const double difference = std::abs(static_cast<double>(a(i, j)) - static_cast<double>(b(i, j)));
            if (!(difference <= largest)) largest = difference;
        }
    }
    return largest;
}

template <class T>
Dense<T> product(const Dense<T>& a, const Dense<T>& x) {
    Dense<double> b(a.m, x.n);
    for (double& value : b.values) value = 0;
    subtract_product(b, in_double(a), in_double(x));
    Dense<T> result(a.m, x.n);
    for (Index j = 0; j < x.n; ++j) {
        for (Index i = 0; i < a.m; ++i) result(i, j) = static_cast<T>(-b(i, j));
    }
    return result;
}

/// The message of the UsageError that `call` throws; empty when it throws none.
template <class F>
std::string usage_error_of(const F& call) {
    try {
        call();
    } catch (const UsageError& error) {
        return error.what();
    }
    return {};
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::array<Index, 8> orders{0, 1, nb - 1, nb, nb + 1, 2 * nb + 3, 150, 300};

}  // namespace

TEMPLATE_TEST_CASE("lu_solve solves for any number of right-hand sides with any tiles", "[solve]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const Index n : orders) {
            const Dense<T> a = random_dense<T>(n, n, 40);
            for (const Layout& layout : layouts) {
                Matrix<T> tiles = to_tiles(rt, a, layout.tile);
                const LuFactors<T> lu = lu_factor(rt, tiles, layout.options);
                for (const Index nrhs : {Index{0}, Index{1}, Index{3}, nb, 2 * nb + 1}) {
                    INFO(n << " with " << nrhs << ", " << text(layout) << ", " << text(config));
                    const Dense<T> b = random_dense<T>(n, nrhs, 41);
                    Matrix<T> x = to_tiles(rt, b, nrhs == 3 ? TileShape{40, 2} : layout.tile);
                    lu_solve(rt, lu, x);
                    CHECK(solve_ratio(a, from_tiles(rt, x), b) < 30);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("the solution of exact-integer systems is exact", "[solve]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const Index n : {1, 33, 100, 160}) {
        const Dense<T> a = generated<T>("integer", n, n, 42);
        Dense<T> x(n, 5);
        for (Index j = 0; j < x.n; ++j) {
            for (Index i = 0; i < n; ++i) x(i, j) = static_cast<T>((i * 7 + j * 3) % 5 - 2);
        }
        const Dense<T> b = product(a, x);
        const Solved<T> s = solved(rt, a, b);
        CHECK(max_difference(s.x, x) == 0);
        CHECK(s.lu.values == lapack_getrf(a).lu.values);
    }
}

TEMPLATE_TEST_CASE("back substitution alone solves an augmented matrix", "[solve]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const Index n : {Index{0}, Index{1}, nb - 1, 2 * nb, 2 * nb + 3, Index{150}}) {
            for (const Index k : {Index{1}, Index{5}, nb + 3}) {
                const Dense<T> a = random_dense<T>(n, n, 43), b = random_dense<T>(n, k, 44);
                Dense<T> both(n, n + k);
                for (Index j = 0; j < n + k; ++j) {
                    for (Index i = 0; i < n; ++i) both(i, j) = j < n ? a(i, j) : b(i, j - n);
                }
                for (Layout layout : layouts) {
                    INFO(n << " + " << k << ", " << text(layout) << ", " << text(config));
                    layout.options.left_interchanges = k == 5;
                    Matrix<T> tiles = to_tiles(rt, both, layout.tile);
                    const LuFactors<T> lu = lu_factor(rt, tiles, layout.options);
                    const Matrix<T> x = lu_solve_augmented(rt, lu);
                    if (layout.options.left_interchanges) {
                        Matrix<T> again = to_tiles(rt, b, layout.tile);
                        lu_solve(rt, lu, again);
                        CHECK(solve_ratio(a, from_tiles(rt, again), b) < 30);
                    }
                    CHECK(x.rows() == n);
                    CHECK(x.cols() == k);
                    CHECK(solve_ratio(a, from_tiles(rt, x), b) < 30);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("solve() has the results of LAPACK's gesv", "[solve]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const Index n : orders) {
            for (const Index nrhs : {0, 1, 7}) {
                INFO(n << " with " << nrhs << ", " << text(config));
                const Dense<T> a = well_separated<T>(n, n, 45), b = random_dense<T>(n, nrhs, 46);
                const Solved<T> s = solved(rt, a, b);
                CHECK(s.info == 0);
                CHECK(s.pivots == lapack_getrf(a).pivots);  // OpenBLAS's gesv factors nothing when nrhs is 0
                CHECK(factor_ratio(a, s.lu, s.pivots) < 30);
                CHECK(solve_ratio(a, s.x, b) < 30);
            }
        }
    }
}

TEMPLATE_TEST_CASE("errors of solve() are those of LAPACK within a factor", "[solve]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const char* kind : {"random", "spd", "graded", "orthogonal", "vandermonde", "hilbert"}) {
        const Index n = kind[0] == 'h' || kind[0] == 'v' ? 8 : 300;
        const Dense<T> a = generated<T>(kind, n, n), x = random_dense<T>(n, 2, 47), b = product(a, x);
        const Solved<T> expected = lapack_gesv(a, b), s = solved(rt, a, b);
        INFO(kind);
        CHECK(s.info == expected.info);
        CHECK(solve_ratio(a, s.x, b) < std::max(1.0, 4 * solve_ratio(a, expected.x, b)));
        CHECK(max_difference(s.x, x) < 10 * max_difference(expected.x, x) + 10 * roundoff<T>);
    }
}

TEMPLATE_TEST_CASE("solve() of order 1000 with gaps below the columns", "[solve]", float, double) {
    using T = TestType;
    for (const int workers : {1, 2, 8}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        const Dense<T> a = random_dense<T>(1000, 1000, 48, 5), b = random_dense<T>(1000, 20, 49, 3);
        const Solved<T> s = solved(rt, a, b);
        CHECK(s.info == 0);
        CHECK(s.lu.gap_untouched());
        CHECK(s.x.gap_untouched());
        CHECK(solve_ratio(a, s.x, b) < 30);
        CHECK(factor_ratio(a, s.lu, s.pivots) < 30);
    }
}

TEMPLATE_TEST_CASE("solve() of a singular matrix returns LAPACK's INFO and leaves B alone", "[solve]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const Index n : {Index{1}, nb, Index{100}}) {
        for (const Index zero : {Index{0}, n / 2, n - 1}) {
            Dense<T> a = generated<T>("integer", n, n);
            for (Index i = 0; i < n; ++i) a(i, zero) = 0;
            const Dense<T> b = random_dense<T>(n, 3, 50, 2);
            const Solved<T> expected = lapack_gesv(a, b), s = solved(rt, a, b);
            CHECK(s.info == expected.info);
            CHECK(s.info == zero + 1);
            CHECK(s.x.values == b.values);
            CHECK(factor_ratio(a, s.lu, s.pivots) < 30);
        }
    }
}

TEST_CASE("solve() without the pivots, and with nothing to do, is fine", "[solve]") {
    Runtime rt(two_workers());
    Dense<double> a = random_dense<double>(50, 50, 51), b = random_dense<double>(50, 1, 52);
    const Dense<double> a0 = a, b0 = b;
    CHECK(solve(rt, 50, 1, a.values.data(), 50, b.values.data(), 50) == 0);
    CHECK(solve_ratio(a0, b, b0) < 30);
    double* nothing = nullptr;
    CHECK(solve(rt, 0, 3, nothing, 1, nothing, 1) == 0);
    a = a0;
    CHECK(solve(rt, 50, 0, a.values.data(), 50, nothing, 50) == 0);
    CHECK(a.values != a0.values);  // factored all the same, as by gesv
}

TEST_CASE("wrong arguments of solve() are refused by name and nothing is touched", "[solve]") {
    Runtime rt(two_workers());
    const Dense<double> a0 = random_dense<double>(10, 10, 53), b0 = random_dense<double>(10, 2, 54);
    Dense<double> a = a0, b = b0;
    const auto message = [&](Index n, Index nrhs, double* pa, Index lda, double* pb, Index ldb) {
        return usage_error_of([&] { solve(rt, n, nrhs, pa, lda, pb, ldb); });
    };
    double* pa = a.values.data();
    double* pb = b.values.data();
    CHECK(mentions(message(-1, 2, pa, 10, pb, 10), "n = -1"));
    CHECK(mentions(message(10, -2, pa, 10, pb, 10), "nrhs = -2"));
    CHECK(mentions(message(10, 2, pa, 9, pb, 10), "lda = 9"));
    CHECK(mentions(message(10, 2, pa, 10, pb, 9), "ldb = 9"));
    CHECK(mentions(message(0, 2, pa, 0, pb, 1), "lda = 0"));
    CHECK(mentions(message(0, 2, pa, 1, pb, 0), "ldb = 0"));
    CHECK(mentions(message(10, 2, nullptr, 10, pb, 10), "matrix is missing"));
    CHECK(mentions(message(10, 2, pa, 10, nullptr, 10), "right-hand sides are missing"));
    CHECK(a.values == a0.values);
    CHECK(b.values == b0.values);
}

TEST_CASE("factors and right-hand sides that do not belong together are refused", "[solve]") {
    Runtime rt(two_workers()), other(two_workers());
    Matrix<double> a = to_tiles(rt, random_dense<double>(40, 40, 55)),
                   tall = to_tiles(rt, random_dense<double>(41, 40, 56)),
                   wide = to_tiles(rt, random_dense<double>(40, 41, 59));
    Matrix<double> b = to_tiles(rt, random_dense<double>(40, 1, 57)), shorter(rt, 39, 1), foreign(other, 40, 1), none;
    const LuFactors<double> lu = lu_factor(rt, a), of_tall = lu_factor(rt, tall), of_wide = lu_factor(rt, wide),
                            no_factors;
    CHECK(mentions(usage_error_of([&] { lu_solve(rt, of_tall, b); }), "41 x 40"));
    CHECK(mentions(usage_error_of([&] { lu_solve(rt, lu, shorter); }), "39 rows"));
    CHECK_THROWS_AS(lu_solve(rt, lu, foreign), UsageError);
    CHECK_THROWS_AS(lu_solve(other, lu, b), UsageError);
    CHECK_THROWS_AS(lu_solve(rt, lu, none), UsageError);
    CHECK_THROWS_AS(lu_solve(rt, no_factors, b), UsageError);
    CHECK(mentions(usage_error_of([&] { lu_solve_augmented(rt, lu); }), "40 x 40"));
    CHECK_THROWS_AS(lu_solve_augmented(other, of_wide), UsageError);
    CHECK_THROWS_AS(lu_solve_augmented(rt, no_factors), UsageError);
    Matrix<double> again = to_tiles(rt, random_dense<double>(40, 40, 58));
    const LuFactors<double> unordered = lu_factor(rt, again, {.left_interchanges = false});
    CHECK(mentions(usage_error_of([&] { lu_solve(rt, unordered, b); }), "left_interchanges"));
}

TEST_CASE("solve() inside tasks waits for its own work alone", "[solve]") {
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Dense<double> a = random_dense<double>(120, 120, 59), b = random_dense<double>(120, 4, 60);
        std::array<std::optional<Solved<double>>, 3> results;
        for (auto& result : results) {
            rt.submit({.name = "outer"}, [&rt, &a, &b, &result] { result = solved(rt, a, b); });
        }
        rt.wait();
        for (const auto& result : results) {
            CHECK(result->info == 0);
            CHECK(solve_ratio(a, result->x, b) < 30);
            CHECK(result->x.values == results[0]->x.values);
        }
    }
}

TEST_CASE("two threads solve on one runtime, and on a runtime each, at once", "[solve][sanitize]") {
    const Dense<double> a = random_dense<double>(200, 200, 61), b = random_dense<double>(200, 3, 62);
    Runtime first(two_workers()), second(two_workers());
    for (Runtime* other : {&first, &second}) {
        std::atomic<int> wrong{0};
        const auto repeat = [&](Runtime& rt) {
            for (int round = 0; round < 5; ++round) {
                const Solved<double> s = solved(rt, a, b);
                if (s.info != 0 || !(solve_ratio(a, s.x, b) < 30)) ++wrong;
            }
        };
        std::thread one([&] { repeat(first); }), two([&] { repeat(*other); });
        one.join();
        two.join();
        CHECK(wrong == 0);
    }
}

TEST_CASE("OpenBLAS has the number of threads it had before", "[solve]") {
    const int before = openblas_get_num_threads();
    for (const int setting : {2, 1, 3}) {
        openblas_set_num_threads(setting);
        const int had = openblas_get_num_threads();
        Runtime rt(two_workers());
        CHECK(solved(rt, random_dense<double>(150, 150, 63), random_dense<double>(150, 10, 64)).info == 0);
        CHECK(openblas_get_num_threads() == had);
    }
    openblas_set_num_threads(before);
}

TEMPLATE_TEST_CASE("NaN and infinity pass through solve() without a hang", "[solve]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
        Dense<T> a = random_dense<T>(90, 90, 65), b = random_dense<T>(90, 2, 66);
        b(7, 1) = bad;
        const Solved<T> in_b = solved(rt, a, b);
        CHECK(in_b.info == 0);
        CHECK(std::isfinite(in_b.x(0, 0)));
        CHECK(!std::isfinite(in_b.x(0, 1)));
        a(50, 30) = bad;
        CHECK(!std::isfinite(one_norm(solved(rt, a, b).x)));
    }
}

TEST_CASE("equal systems have equal solutions, bit for bit", "[solve]") {
    const Dense<double> a = random_dense<double>(250, 250, 67), b = random_dense<double>(250, 5, 68);
    for (const int workers : {1, 2, 8}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        const Solved<double> first = solved(rt, a, b);
        for (int run = 0; run < 4; ++run) CHECK(solved(rt, a, b).x.values == first.x.values);
    }
}

TEST_CASE("factors and right-hand sides may be dropped while the solve runs", "[solve]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(150, 150, 69), b = random_dense<double>(150, 2, 70);
    for (int round = 0; round < 10; ++round) {
        Matrix<double> x = to_tiles(rt, b, {nb, 1});
        {
            Matrix<double> tiles = to_tiles(rt, a, {nb, nb}), dropped = to_tiles(rt, b);
            const LuFactors<double> lu = lu_factor(rt, tiles);
            lu_solve(rt, lu, x);
            lu_solve(rt, lu, dropped);
        }
        CHECK(solve_ratio(a, from_tiles(rt, x), b) < 30);
    }
}

TEST_CASE("an error of another task reaches solve() and the next one works", "[solve]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(100, 100, 71), b = random_dense<double>(100, 1, 72);
    rt.submit({.name = "broken"}, [] { throw 1; });
    CHECK_THROWS_AS(solved(rt, a, b), TaskError);
    CHECK(solve_ratio(a, solved(rt, a, b).x, b) < 30);
}

TEMPLATE_TEST_CASE("random systems of any size are solved", "[solve][.soak]", float, double) {
    using T = TestType;
    const unsigned seed = std::random_device{}();
    std::mt19937 random(seed);
    INFO("seed " << seed);
    for (int round = 0; round < 200; ++round) {
        Config config;
        config.workers = static_cast<int>(1 + random() % 8);
        config.scheduler = scheduler_names()[random() % 2];
        Runtime rt(config);
        const auto n = static_cast<Index>(random() % (round % 10 == 0 ? 3000 : 500));
        const auto nrhs = static_cast<Index>(random() % 400);
        INFO(n << " with " << nrhs << ", " << text(config));
        const Dense<T> a = random_dense<T>(n, n, random(), 2), b = random_dense<T>(n, nrhs, random(), 1);
        const Solved<T> s = solved(rt, a, b);
        CHECK(s.info == 0);
        CHECK(solve_ratio(a, s.x, b) < 30);
        CHECK(s.lu.gap_untouched());
        CHECK(s.x.gap_untouched());
    }
}
