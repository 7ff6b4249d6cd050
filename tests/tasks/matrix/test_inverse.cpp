// Inverses, triangular solutions and factors of other libraries, on cores and emulated GPUs.
#include <optional>
#include <vector>

#include <lapacke.h>

#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

std::vector<Config> cores_or_gpus() {
    Config on_cores = two_workers(), on_gpus = two_workers();
    on_gpus.emulation.gpus = 3;
    return {on_cores, on_gpus};
}

template <class T>
Dense<T> identity(Index n) {
    Dense<T> result(n, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) result(i, j) = i == j ? T{1} : T{0};
    }
    return result;
}

/// A copied to tiles on the GPUs, or on the host without.
template <class T>
Matrix<T> placed(Runtime& runtime, const Dense<T>& a, TileShape tile) {
    Matrix<T> matrix(runtime, a.m, a.n, tile);
    matrix.load(View<const T>::column_major(a.values.data(), a.m, a.n, a.ld), Place::any());
    runtime.wait();
    return matrix;
}

/// The triangle alone; zeros, or ones on the diagonal, elsewhere.
template <class T>
Dense<T> triangle_of(const Dense<T>& a, Triangle triangle, Diagonal diagonal) {
    Dense<T> result(a.m, a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) {
            const bool inside = triangle == Triangle::lower ? i >= j : i <= j;
            result(i, j) = i == j && diagonal == Diagonal::unit ? T{1} : inside ? a(i, j) : T{0};
        }
    }
    return result;
}

template <class T>
Dense<T> transpose(const Dense<T>& a) {
    Dense<T> result(a.n, a.m);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) result(j, i) = a(i, j);
    }
    return result;
}

template <class T>
Dense<T> triangular(Index n, unsigned seed) {
    Dense<T> a = random_dense<T>(n, n, seed);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) a(i, j) = i == j ? T(2) + a(i, j) : a(i, j) / T(n);
    }
    return a;
}

constexpr TileShape tile{nb, nb};

}  // namespace

TEMPLATE_TEST_CASE("inverses from LU factors", "[inverse][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_or_gpus()) {
        Runtime runtime(config);
        for (const Index n : {0, 1, 31, 33, 150}) {
            INFO(n << ", " << runtime.gpus() << " GPUs");
            const Dense<TestType> a = random_dense<TestType>(n, n, 70);
            Matrix<TestType> tiles = placed(runtime, a, tile);
            const LuFactors<TestType> lu = lu_factor(runtime, tiles, {.panel_width = Index{12}});
            const Matrix<TestType> inverse = lu_inverse(runtime, lu);
            CHECK(solve_ratio(a, from_tiles(runtime, inverse), identity<TestType>(n)) < 30);
        }
    }
}

TEMPLATE_TEST_CASE("inverses from Cholesky factors", "[inverse][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_or_gpus()) {
        Runtime runtime(config);
        for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
            for (const Index n : {0, 1, 31, 33, 150}) {
                INFO(n << ", " << runtime.gpus() << " GPUs, lower " << (triangle == Triangle::lower));
                const Dense<TestType> a = generated<TestType>("spd", n, n);
                Matrix<TestType> tiles = placed(runtime, a, tile);
                const auto factor = cholesky_factor(runtime, tiles, triangle);
                Dense<TestType> x = from_tiles(runtime, cholesky_inverse(runtime, factor));
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < j; ++i) {
                        if (triangle == Triangle::lower) {
                            x(i, j) = x(j, i);
                        } else {
                            x(j, i) = x(i, j);
                        }
                    }
                }
                CHECK(solve_ratio(a, x, identity<TestType>(n)) < 30);
            }
        }
    }
}

TEMPLATE_TEST_CASE("triangular solutions and inverses", "[inverse][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_or_gpus()) {
        Runtime runtime(config);
        for (const Index n : {0, 1, 33, 130}) {
            const Dense<TestType> a = triangular<TestType>(n, 71), b = random_dense<TestType>(n, 5, 72);
            for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
                for (const Diagonal diagonal : {Diagonal::stored, Diagonal::unit}) {
                    INFO(n << ", " << runtime.gpus() << " GPUs, lower " << (triangle == Triangle::lower) << ", unit "
                           << (diagonal == Diagonal::unit));
                    const Dense<TestType> t = triangle_of(a, triangle, diagonal);
                    const Matrix<TestType> tiles = placed(runtime, a, tile);
                    for (const MatrixOp op : {MatrixOp::plain, MatrixOp::transposed}) {
                        Matrix<TestType> x = to_tiles(runtime, b, {40, 2});
                        triangular_solve(runtime, triangle, diagonal, op, tiles, x);
                        CHECK(solve_ratio(op == MatrixOp::plain ? t : transpose(t), from_tiles(runtime, x), b) < 30);
                    }
                    const Dense<TestType> inverse =
                        from_tiles(runtime, triangular_inverse(runtime, triangle, diagonal, tiles));
                    CHECK(solve_ratio(t, inverse, identity<TestType>(n)) < 30);
                    const Dense<TestType> inside = triangle_of(inverse, triangle, Diagonal::stored);
                    CHECK(largest_difference(inside, inverse) == 0);  // zeros elsewhere
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("LU factors of other libraries solve", "[inverse]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_or_gpus()) {
        Runtime runtime(config);
        const Index n = 150;
        INFO(runtime.gpus() << " GPUs");
        const Dense<TestType> a = random_dense<TestType>(n, n, 73), b = random_dense<TestType>(n, 3, 74);
        const Factored<TestType> factored = lapack_getrf(a);
        Matrix<TestType> tiles = placed(runtime, factored.lu, tile);
        const LuFactors<TestType> lu = lu_adopt(runtime, tiles, factored.pivots.data());
        Matrix<TestType> x = to_tiles(runtime, b, tile), y = to_tiles(runtime, b, tile);
        lu_solve(runtime, lu, x);
        lu_solve_transposed(runtime, lu, y);
        CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
        CHECK(solve_ratio(transpose(a), from_tiles(runtime, y), b) < 30);
        CHECK(solve_ratio(a, from_tiles(runtime, lu_inverse(runtime, lu)), identity<TestType>(n)) < 30);
        CHECK(lu.info() == 0);
        CHECK(lu.pivots() == factored.pivots);
    }
}

TEST_CASE("adopted factors name the first zero on the diagonal", "[inverse]") {
    Runtime runtime(two_workers());
    Dense<double> a = identity<double>(70);
    a(40, 40) = a(55, 55) = 0;
    Matrix<double> tiles = to_tiles(runtime, a, tile);
    CHECK(lu_adopt(runtime, tiles, nullptr).info() == 41);
}

TEST_CASE("Cholesky and QR factors of other libraries solve", "[inverse]") {
    const Watchdog watchdog;
    Runtime runtime(two_workers());
    const Index n = 90;
    const Dense<double> a = generated<double>("spd", n, n), b = random_dense<double>(n, 3, 75);
    Dense<double> l = a;
    REQUIRE(LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', n, l.values.data(), static_cast<lapack_int>(l.ld)) == 0);
    Matrix<double> factor = to_tiles(runtime, l, tile), x = to_tiles(runtime, b, tile);
    cholesky_solve(runtime, cholesky_adopt(runtime, factor, Triangle::upper), x);
    CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);

    Dense<double> qr = a;
    std::vector<double> tau(n);
    REQUIRE(LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, n, qr.values.data(), static_cast<lapack_int>(qr.ld), tau.data()) == 0);
    Matrix<double> reflectors = to_tiles(runtime, qr, tile), y = to_tiles(runtime, b, tile);
    qr_solve(runtime, qr_adopt(runtime, reflectors, tau.data()), y);
    CHECK(solve_ratio(a, from_tiles(runtime, y), b) < 30);
}

TEST_CASE("inverses refuse what they cannot invert", "[inverse]") {
    Runtime runtime(two_workers()), other(two_workers());
    Matrix<double> wide(runtime, 3, 4), square(runtime, 3, 3), foreign(other, 3, 3), b(runtime, 4, 1);
    CHECK_THROWS_AS(lu_inverse(runtime, lu_factor(runtime, wide)), UsageError);
    CHECK_THROWS_AS(lu_adopt(runtime, wide, nullptr), UsageError);
    CHECK_THROWS_AS(lu_adopt(runtime, foreign, nullptr), UsageError);
    CHECK_THROWS_AS(cholesky_adopt(runtime, wide, Triangle::lower), UsageError);
    CHECK_THROWS_AS(cholesky_adopt(runtime, foreign, Triangle::lower), UsageError);
    CHECK_THROWS_AS(qr_adopt<double>(runtime, foreign, nullptr), UsageError);
    CHECK_THROWS_AS(triangular_inverse(runtime, Triangle::lower, Diagonal::unit, wide), UsageError);
    CHECK_THROWS_AS(triangular_solve(runtime, Triangle::lower, Diagonal::unit, MatrixOp::plain, square, b), UsageError);
    CHECK_THROWS_AS(triangular_solve(runtime, Triangle::lower, Diagonal::unit, MatrixOp::plain, foreign, square),
                    UsageError);
    const Index pivots[]{1, 4, 3};
    const auto bad = error_of<UsageError>([&] { lu_adopt(runtime, square, pivots); });
    CHECK(mentions(bad, "pivot 2 is 4; allowed is 1 to 3"));
    runtime.wait();
}
