// Cholesky on cores, and the calls on the user's arrays, against LAPACK.
#include <optional>
#include "tests/common/shown.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Config cores(int workers) {
    Config config;
    config.workers = workers;
    config.gpus = 0;
    return config;
}

CholeskyOptions on_cores(std::optional<Index> panel_width = {}, std::optional<int> lookahead = {}) {
    CholeskyOptions options;
    options.mode = FactorMode::cpu;
    options.panel_width = panel_width;
    options.lookahead = lookahead;
    return options;
}

struct Layout {
    TileShape tile;
    CholeskyOptions options;
};

const std::vector<Layout> layouts{{{32, 32}, on_cores(32)},
                                  {{48, 32}, on_cores(7, 0)},
                                  {{16, 80}, on_cores(80, 3)},
                                  {{64, 128}, on_cores(48, 2)},
                                  {{}, on_cores()}};

}  // namespace

TEMPLATE_TEST_CASE("Cholesky of any order has LAPACK's residual with any tiles, panels and workers",
                   "[cholesky][sanitize]", float, double) {
    for (const int workers : {1, 2, 4}) {
        Runtime runtime(cores(workers));
        for (const Index n : {0, 1, 2, 31, 32, 33, 64, 65, 129, 200}) {
            for (const Layout& layout : layouts) {
                for (const Triangle triangle : both_triangles) {
                    const Dense<TestType> a = spd_dense<TestType>(triangle, n, 1);
                    INFO(text(triangle) << ", n = " << n << ", tiles " << layout.tile.height << " x "
                                        << layout.tile.width << ", panels of " << shown(layout.options.panel_width)
                                        << ", " << workers << " workers");
                    check_cholesky(triangle, a, factor(runtime, triangle, a, layout.tile, layout.options));
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("updates by several panels at once change no bit of the factor", "[cholesky]", float, double) {
    const auto with_depth = [](int workers, CoreDepth depth) {
        auto tables = std::make_shared<TuningTables>(TuningTables::built_in());
        for (CpuTuning& cpu : tables->cpus) cpu.cholesky.depth = depth;
        Config config = cores(workers);
        config.tuning = tables;
        return config;
    };
    for (const Triangle triangle : both_triangles) {
        for (const Index n : {96, 130, 300}) {
            const Dense<TestType> a = spd_dense<TestType>(triangle, n, 7);
            for (const Layout& layout : layouts) {
                Runtime one_by_one(with_depth(2, {.columns = 1, .left_a_column = 1}));
                const auto expected = factor(one_by_one, triangle, a, layout.tile, layout.options);
                check_cholesky(triangle, a, expected);
                for (const CoreDepth depth : {CoreDepth{64, 1}, {100, 2}, {1000, 1}}) {
                    for (const int workers : {1, 3}) {
                        INFO(text(triangle) << ", n = " << n << ", panels of " << shown(layout.options.panel_width)
                                            << ", depth " << depth.columns << ", " << workers << " workers");
                        Runtime runtime(with_depth(workers, depth));
                        const auto got = factor(runtime, triangle, a, layout.tile, layout.options);
                        CHECK(got.info == 0);
                        CHECK(lower_factor(triangle, got.factor).values ==
                              lower_factor(triangle, expected.factor).values);
                        CHECK(other_side_untouched(triangle, a, got.factor));
                    }
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("Cholesky of order 1000 is as exact as LAPACK's", "[cholesky]", float, double) {
    Runtime runtime(cores(2));
    for (const Triangle triangle : both_triangles) {
        const Dense<TestType> a = spd_dense<TestType>(triangle, 1000, 2);
        const auto got = factor(runtime, triangle, a, {}, on_cores());
        check_cholesky(triangle, a, got);
        CHECK(cholesky_ratio(triangle, a, got.factor) <
              4 * cholesky_ratio(triangle, a, lapack_potrf(triangle, a).factor));
    }
}

TEMPLATE_TEST_CASE("INFO is the order of the first minor that is not positive definite, or holds a NaN",
                   "[cholesky][sanitize]", float, double) {
    Runtime runtime(cores(2));
    check_info<TestType>(runtime, 70, {32, 32}, on_cores(32), {0, 1, 31, 32, 50, 69});
    check_info<TestType>(runtime, 20, {}, on_cores(), {0, 19});
    check_info<TestType>(runtime, 300, {128, 256}, on_cores(256), {99, 256, 290});
}

TEMPLATE_TEST_CASE("ill-conditioned matrices keep LAPACK's residual", "[cholesky]", float, double) {
    Runtime runtime(cores(2));
    check_ill_conditioned<TestType>(runtime, 150, {64, 64}, on_cores(64));
}

TEMPLATE_TEST_CASE("a system is solved with the factor, for any number of right-hand sides", "[cholesky]", float,
                   double) {
    Runtime runtime(cores(2));
    for (const Index n : {0, 1, 33, 150}) {
        for (const Index nrhs : {0, 1, 2, 40, 70}) {
            for (const Triangle triangle : both_triangles) {
                const Dense<TestType> a = spd_dense<TestType>(triangle, n, 4);
                const Dense<TestType> b = random_dense<TestType>(n, nrhs, 5);
                auto tiles = Matrix<TestType>::from_columns(runtime, a.values.data(), n, n, a.ld, {32, 64});
                auto x = Matrix<TestType>::from_columns(runtime, b.values.data(), n, nrhs, b.ld, {16, 32});
                const auto cholesky = cholesky_factor(runtime, tiles, triangle, on_cores(32));
                cholesky_solve(runtime, cholesky, x);
                Dense<TestType> got(n, nrhs);
                x.store(got.view());
                runtime.wait();
                INFO(text(triangle) << ", n = " << n << ", " << nrhs << " right-hand sides");
                CHECK(cholesky.info() == 0);
                CHECK(solve_ratio(rounded<TestType>(symmetric(triangle, a)), got, b) < 30);
            }
        }
    }
}

TEMPLATE_TEST_CASE("potrf and posv on the user's arrays touch the triangle and B alone", "[cholesky][sanitize]", float,
                   double) {
    Runtime runtime(cores(2));
    for (const Index n : {0, 1, 31, 200}) {
        for (const Triangle triangle : both_triangles) {
            check_on_arrays(runtime, triangle, spd_dense<TestType>(triangle, n, 6, 3),
                            random_dense<TestType>(n, 3, 7, 2));
        }
    }
}

TEST_CASE("posv leaves B alone where the matrix is not positive definite", "[cholesky]") {
    Runtime runtime(cores(2));
    for (const Triangle triangle : both_triangles) {
        Dense<double> a = spd_dense<double>(triangle, 90, 8), b = random_dense<double>(90, 2, 9), x = b;
        a(60, 60) = -2;
        CHECK(cholesky_solve(runtime, triangle, 90, 2, a.values.data(), a.ld, x.values.data(), x.ld) == 61);
        CHECK(x.values == b.values);
    }
}

TEST_CASE("the same input gives the same bits again", "[cholesky]") {
    Runtime runtime(cores(4));
    for (const Triangle triangle : both_triangles) {
        const Dense<double> a = spd_dense<double>(Triangle::lower, 300, 10);
        const Dense<double> full = symmetric(Triangle::lower, a);
        const auto first = factor(runtime, triangle, full, {64, 64}, on_cores(64));
        for (int i = 0; i < 5; ++i) {
            CHECK(factor(runtime, triangle, full, {64, 64}, on_cores(64, i % 3)).factor.values == first.factor.values);
        }
    }
}

TEST_CASE("what Cholesky cannot do is refused with what is allowed", "[cholesky]") {
    Runtime runtime(cores(1)), other(cores(1));
    Matrix<double> a(runtime, 8, 8), wide(runtime, 8, 9), b(runtime, 7, 1);
    CHECK_THROWS_AS(cholesky_factor(runtime, wide), UsageError);
    CHECK_THROWS_AS(cholesky_factor(other, a), UsageError);
    CHECK_THROWS_AS(cholesky_factor(runtime, a, Triangle::lower, on_cores(-1)), UsageError);
    CHECK_THROWS_AS(cholesky_factor(runtime, a, Triangle::lower, on_cores(0, -2)), UsageError);
    CholeskyOptions gpu;
    gpu.mode = FactorMode::gpu;
    CHECK_THROWS_AS(cholesky_factor(runtime, a, Triangle::lower, gpu), UsageError);
    const auto cholesky = cholesky_factor(runtime, a);
    CHECK_THROWS_AS(cholesky_solve(runtime, cholesky, b), UsageError);
    CHECK_THROWS_AS(CholeskyFactors<double>().info(), UsageError);
    double element = 1;
    CHECK_THROWS_AS(cholesky_factor<double>(runtime, Triangle::lower, -1, &element, 1), UsageError);
    CHECK_THROWS_AS(cholesky_factor<double>(runtime, Triangle::lower, 2, &element, 1), UsageError);
    CHECK_THROWS_AS(cholesky_factor<double>(runtime, Triangle::lower, 1, nullptr, 1), UsageError);
    CHECK_THROWS_AS(cholesky_solve<double>(runtime, Triangle::lower, 1, -1, &element, 1, &element, 1), UsageError);
    CHECK_THROWS_AS(cholesky_solve<double>(runtime, Triangle::lower, 1, 1, &element, 1, nullptr, 1), UsageError);
    runtime.wait();
}
