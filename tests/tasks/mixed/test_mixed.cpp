// Mixed precision on cores: answers are those of double precision, or say why A was factored in double.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/common/mentions.hpp"
#include "tests/tasks/mixed/mixed_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// The elements of a matrix in memory.
class StoredGenerator final : public Generator<double> {
  public:
    explicit StoredGenerator(Dense<double> a) : Generator<double>(a.m, a.n), a_(std::move(a)) {}
    std::string_view name() const override { return "stored"; }

  private:
    void fill_block(View<double> block, Index row0, Index col0) const override {
        for (Index i = 0; i < block.rows(); ++i) {
            for (Index j = 0; j < block.cols(); ++j) block(i, j) = a_(row0 + i, col0 + j);
        }
    }

    const Dense<double> a_;
};

constexpr std::array methods{MixedMethod::lu, MixedMethod::cholesky};

const char* name_of(MixedMethod method) { return method == MixedMethod::lu ? "lu" : "cholesky"; }

}  // namespace

TEST_CASE("random systems of any size are refined to double precision", "[mixed][sanitize]") {
    Runtime runtime(two_workers());
    for (const Index n : {0, 1, 2, 5, 31, 64, 100, 257}) {
        for (const Index nrhs : {0, 1, 3}) {
            for (const TileShape tile : {TileShape{}, TileShape{32, 32}, TileShape{40, 16}}) {
                INFO("n = " << n << ", " << nrhs << " right-hand sides, tiles of " << tile.width);
                const Dense<double> a = random_dense<double>(n, n, 11), b = random_dense<double>(n, nrhs, 12);
                check_answer(mixed_answer(runtime, a, b, {}, tile), a, b);
                const Dense<double> positive = spd(n, 13);
                check_answer(mixed_answer(runtime, positive, b, {.method = MixedMethod::cholesky}, tile), positive, b);
            }
        }
    }
}

TEST_CASE("well-conditioned systems need few corrections and no factors in double", "[mixed]") {
    Runtime runtime(two_workers());
    for (const double condition : {1e2, 1e4, 1e6}) {
        for (const MixedMethod method : methods) {
            for (const Refinement refinement : {Refinement::automatic, Refinement::classic, Refinement::gmres}) {
                INFO("condition " << condition << ", " << name_of(method));
                const Dense<double> a = conditioned(300, condition, 14, method == MixedMethod::cholesky),
                                    b = random_dense<double>(300, 2, 15);
                const MixedAnswer answer =
                    mixed_answer(runtime, a, b, {.method = method, .refinement = refinement}, {64, 64});
                check_answer(answer, a, b);
                CHECK_FALSE(answer.result.fell_back());
                CHECK(answer.result.iterations <= 12);
                CHECK(answer.a.values == a.values);
            }
        }
    }
}

TEST_CASE("a system of any condition gets an answer of double precision", "[mixed]") {
    Runtime runtime(two_workers());
    for (const double condition : {1e8, 1e10, 1e12, 1e14, 1e16}) {
        for (const MixedMethod method : methods) {
            INFO("condition " << condition << ", " << name_of(method));
            const Dense<double> a = conditioned(200, condition, 16, method == MixedMethod::cholesky),
                                b = random_dense<double>(200, 1, 17);
            const MixedAnswer answer = mixed_answer(runtime, a, b, {.method = method}, {64, 64});
            if (answer.result.info == 0) check_answer(answer, a, b);
            // a positive definite matrix of condition 1e16 need not have a factor in double
            CHECK((answer.result.info == 0 || (method == MixedMethod::cholesky && condition >= 1e16)));
            CHECK(answer.a.values == a.values);
        }
    }
}

TEST_CASE("rows and columns of any scale neither overflow nor spoil the answer", "[mixed]") {
    Runtime runtime(two_workers());
    for (const int exponent : {20, 250, 498}) {
        INFO("scaled by up to 2^" << exponent);
        Dense<double> a = random_dense<double>(120, 120, 18), positive = spd(120, 19);
        scale_rows_and_columns(a, exponent, 20);
        scale_rows_and_columns(positive, exponent / 2, 21, true);
        const Dense<double> b = random_dense<double>(120, 1, 22);
        const MixedAnswer general = mixed_answer(runtime, a, b, {}, {32, 32});
        check_answer(general, a, b);
        CHECK_FALSE(general.result.fell_back());
        const MixedAnswer symmetric = mixed_answer(runtime, positive, b, {.method = MixedMethod::cholesky}, {32, 32});
        check_answer(symmetric, positive, b);
        CHECK_FALSE(symmetric.result.fell_back());
    }
}

TEST_CASE("badly scaled rows and columns hide no error of a component", "[mixed]") {
    Runtime runtime(two_workers());
    for (const int exponent : {13, 26, 150, 400}) {
        for (const Refinement refinement : {Refinement::automatic, Refinement::classic, Refinement::gmres}) {
            INFO("scaled by up to 2^" << exponent);
            const ScaledSystem general = scaled_system(random_dense<double>(120, 120, 37), exponent, 38);
            const MixedAnswer answer =
                mixed_answer(runtime, general.a, general.b, {.refinement = refinement}, {32, 32});
            CHECK_FALSE(answer.result.fell_back());
            CHECK(component_error(answer.x, general.x) < 1e-9);
            check_answer(answer, general.a, general.b);
            const ScaledSystem positive = scaled_system(spd(120, 39), exponent, 40, true);
            const MixedAnswer symmetric = mixed_answer(
                runtime, positive.a, positive.b, {.method = MixedMethod::cholesky, .refinement = refinement}, {32, 32});
            CHECK_FALSE(symmetric.result.fell_back());
            CHECK(component_error(symmetric.x, positive.x) < 1e-9);
        }
    }
}

TEST_CASE("these tests tell wrong answers from right ones at any scale", "[mixed]") {
    for (const int exponent : {0, 20, 250, 400}) {
        const ScaledSystem system = scaled_system(random_dense<double>(100, 100, 41), exponent, 42);
        CHECK(scaled_residual_ratio(system.a, system.x, system.b) < 10);
        const auto ratio_of = [&](const std::function<double(double, Index)>& wrong) {
            Dense<double> x = system.x;
            for (Index i = 0; i < x.m; ++i) x(i, 1) = wrong(x(i, 1), i);
            return scaled_residual_ratio(system.a, x, system.b);
        };
        INFO("scaled by up to 2^" << exponent);
        CHECK(ratio_of([](double x, Index) { return -x; }) > 1e12);
        CHECK(ratio_of([](double x, Index) { return 1.5 * x; }) > 1e12);
        CHECK(ratio_of([](double x, Index i) { return i % 2 == 0 ? x : x * (1 + 1e-9); }) > 1e4);
        CHECK(ratio_of([](double x, Index i) { return i == 7 ? x * (1 + 1e-9) : x; }) > 1e3);
        CHECK(std::isnan(ratio_of([](double x, Index i) { return i == 7 ? x * std::nan("") : x; })));
    }
}

TEST_CASE("a uniform factor near the limits of double changes nothing but the scale", "[mixed]") {
    Runtime runtime(two_workers());
    const Dense<double> a = random_dense<double>(90, 90, 23), b = random_dense<double>(90, 1, 24);
    const MixedAnswer usual = mixed_answer(runtime, a, b);
    for (const int exponent : {-1000, -300, 300, 1000}) {
        Dense<double> scaled = a;
        for (double& x : scaled.values) x = std::ldexp(x, exponent);
        const MixedAnswer answer = mixed_answer(runtime, scaled, b);
        CHECK_FALSE(answer.result.fell_back());
        CHECK(answer.result.iterations <= usual.result.iterations + 1);
        check_answer(answer, scaled, b);
    }
}

TEST_CASE("graded matrices are solved", "[mixed]") {
    Runtime runtime(two_workers());
    const Dense<double> a = generated<double>("graded", 200, 200, 3), b = random_dense<double>(200, 1, 25);
    check_answer(mixed_answer(runtime, a, b), a, b);
}

TEST_CASE("a singular matrix has LAPACK's INFO and keeps its elements", "[mixed]") {
    Runtime runtime(two_workers());
    Dense<double> a = random_dense<double>(100, 100, 26);
    for (Index i = 0; i < a.m; ++i) a(i, 70) = 0;
    const Dense<double> b = random_dense<double>(100, 1, 27);
    const MixedAnswer answer = mixed_answer(runtime, a, b, {}, {32, 32});
    CHECK(answer.result.info == 71);
    CHECK(answer.result.iterations == -3);
    CHECK(answer.result.outcome == MixedOutcome::breakdown);
    CHECK(answer.a.values == a.values);
    Dense<double> indefinite = spd(100, 28);
    indefinite(40, 40) = -1;
    const MixedAnswer symmetric = mixed_answer(runtime, indefinite, b, {.method = MixedMethod::cholesky}, {32, 32});
    CHECK(symmetric.result.info == 41);
    CHECK(symmetric.result.iterations == -3);
    CHECK(symmetric.a.values == indefinite.values);
}

TEST_CASE("pivots that are rounding errors end the factorization of low precision", "[mixed]") {
    Config config;
    config.workers = 1;
    check_pivots_are_watched(config, FactorMode::cpu);
}

TEST_CASE("systems that are not finite fall back and are never called good", "[mixed]") {
    Runtime runtime(two_workers());
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Dense<double> a = random_dense<double>(80, 80, 29), b = random_dense<double>(80, 2, 30);
        b(7, 1) = bad;
        const MixedAnswer of_b = mixed_answer(runtime, a, b, {}, {32, 32});
        CHECK(of_b.result.outcome == MixedOutcome::not_finite);
        CHECK(of_b.result.iterations == -2);
        CHECK(std::isfinite(of_b.x(0, 0)));
        CHECK(!std::isfinite(of_b.x(0, 1)));
        a(50, 30) = bad;
        const MixedAnswer of_a = mixed_answer(runtime, a, random_dense<double>(80, 1, 31), {}, {32, 32});
        CHECK(of_a.result.outcome == MixedOutcome::not_finite);
    }
}

TEST_CASE("limits, tolerances and the kinds of fallback are obeyed", "[mixed]") {
    Runtime runtime(two_workers());
    const Dense<double> a = random_dense<double>(150, 150, 32), b = random_dense<double>(150, 1, 33);
    const MixedAnswer none = mixed_answer(runtime, a, b, {.iteration_limit = 0, .fallback = Fallback::none}, {32, 32});
    CHECK(none.result.iterations == -31);
    CHECK(none.result.outcome == MixedOutcome::iteration_limit);
    CHECK(none.result.fallback_seconds == 0);
    CHECK(none.result.backward_error > 1e-12);
    CHECK(residual_ratio(a, none.x, b) > std::sqrt(150.0));
    const MixedAnswer loose = mixed_answer(runtime, a, b, {.iteration_limit = 0, .tolerance = 1e12}, {32, 32});
    CHECK(loose.result.iterations == 0);
    CHECK(loose.result.outcome == MixedOutcome::refined);
    const MixedAnswer copied = mixed_answer(runtime, a, b, {.iteration_limit = 0}, {32, 32});
    check_answer(copied, a, b);
    CHECK(copied.a.values == a.values);
    CHECK(copied.result.backward_error < 1e-14);
    const MixedAnswer overwritten =
        mixed_answer(runtime, a, b, {.iteration_limit = 0, .fallback = Fallback::in_place}, {32, 32});
    check_answer(overwritten, a, b);
    CHECK(overwritten.a.values != a.values);
    CHECK(overwritten.x.values == copied.x.values);
}

TEST_CASE("right-hand sides that are solved early do not hide that the others converge", "[mixed]") {
    // two blocks of different conditions: a right-hand side of the first one is accepted before one of the second is
    Runtime runtime(two_workers());
    constexpr Index half = 100, n = 2 * half;
    for (const double condition : {1e5, 1e6, 3e6}) {
        const Dense<double> easy = conditioned(half, 10, 51), hard = conditioned(half, condition, 52);
        Dense<double> a(n, n), both(n, 2), one(n, 1);
        for (Index i = 0; i < half; ++i) {
            for (Index j = 0; j < half; ++j) {
                a(i, j) = easy(i, j);
                a(half + i, half + j) = hard(i, j);
                a(half + i, j) = a(i, half + j) = 0;
            }
        }
        const Dense<double> b = random_dense<double>(half, 2, 53);
        for (Index i = 0; i < half; ++i) {
            both(i, 0) = b(i, 0);
            both(half + i, 1) = one(half + i, 0) = b(i, 1);
            both(half + i, 0) = both(i, 1) = one(i, 0) = 0;
        }
        const MixedOptions options{.refinement = Refinement::classic};
        const MixedAnswer alone = mixed_answer(runtime, a, one, options, {32, 32});
        const MixedAnswer together = mixed_answer(runtime, a, both, options, {32, 32});
        INFO("condition " << condition << ": " << alone.result.iterations << " alone");
        CHECK(together.result.iterations <= alone.result.iterations + 1);
        CHECK_FALSE(together.result.fell_back());
        check_answer(together, a, both);
    }
}

TEST_CASE("a backward error that was not measured is NaN", "[mixed]") {
    Runtime runtime(two_workers());
    const MixedOptions options{.fallback = Fallback::none};
    Dense<double> a = random_dense<double>(80, 80, 54), b = random_dense<double>(80, 1, 55);
    CHECK(mixed_answer(runtime, a, b, options).result.backward_error < 1e-15);
    Dense<double> singular = a;
    for (Index i = 0; i < 80; ++i) singular(i, 20) = 0;
    CHECK(std::isnan(mixed_answer(runtime, singular, b, options).result.backward_error));
    b(3, 0) = std::numeric_limits<double>::quiet_NaN();
    CHECK(std::isnan(mixed_answer(runtime, a, b, options).result.backward_error));
    CHECK(mixed_answer(runtime, a, Dense<double>(80, 0), options).result.backward_error == 0);
    const Matrix<double> ones = to_tiles(runtime, random_dense<double>(40, 1, 56));
    Matrix<double> x(runtime, 40, 1);
    CHECK(std::isnan(mixed_solve(runtime, make_generator<double>("zero", 40, 40), ones, x).backward_error));
}

TEST_CASE("after a fallback the backward error tells what factors in double achieve", "[mixed]") {
    Runtime runtime(two_workers());
    const Dense<double> a = generated<double>("wilkinson", 100, 100), b = random_dense<double>(100, 1, 57);
    const MixedAnswer answer = mixed_answer(runtime, a, b);
    CHECK(answer.result.fell_back());
    CHECK(answer.result.info == 0);
    CHECK(answer.result.backward_error > 1e-10);  // elements grow by 2^99
    const MixedAnswer overwritten = mixed_answer(runtime, a, b, {.fallback = Fallback::in_place});
    CHECK(std::isnan(overwritten.result.backward_error));
}

TEST_CASE("a generator's matrix is solved without being kept", "[mixed]") {
    Runtime runtime(two_workers());
    const Dense<double> a = generated<double>("random", 130, 130, 5), b = random_dense<double>(130, 2, 34);
    Matrix<double> right = to_tiles(runtime, b), x(runtime, 130, 2);
    const std::shared_ptr<const Generator<double>> generator = make_generator<double>("random", 130, 140, 5);
    for (const TileShape tile : {TileShape{}, TileShape{32, 48}}) {
        const MixedResult result = mixed_solve(runtime, generator, right, x, tile);
        check_answer({result, from_tiles(runtime, x), a}, a, b);
        CHECK_FALSE(result.fell_back());
    }
}

TEST_CASE("a generator's badly scaled matrix hides no error of a component", "[mixed]") {
    Runtime runtime(two_workers());
    const ScaledSystem system = scaled_system(random_dense<double>(130, 130, 58), 200, 59);
    const Matrix<double> right = to_tiles(runtime, system.b);
    Matrix<double> x(runtime, 130, 2);
    const MixedResult result = mixed_solve(runtime, std::make_shared<StoredGenerator>(system.a), right, x, {32, 48});
    CHECK_FALSE(result.fell_back());
    CHECK(component_error(from_tiles(runtime, x), system.x) < 1e-9);
}

TEST_CASE("the same system has the same bits", "[mixed]") {
    for (const int workers : {1, 2, 5}) {
        Config config;
        config.workers = workers;
        Runtime runtime(config);
        for (const double condition : {1e3, 1e9}) {
            const Dense<double> a = conditioned(180, condition, 35), b = random_dense<double>(180, 2, 36);
            const MixedAnswer first = mixed_answer(runtime, a, b, {}, {32, 32});
            for (int run = 0; run < 3; ++run) {
                const MixedAnswer again = mixed_answer(runtime, a, b, {}, {32, 32});
                CHECK(again.x.values == first.x.values);
                CHECK(again.result.iterations == first.result.iterations);
            }
        }
    }
}

TEST_CASE("wrong use of mixed precision is refused", "[mixed]") {
    Runtime runtime(two_workers());
    const auto refusal = [&](Index rows, Index cols, Index b_rows, Index x_cols, const MixedOptions& options) {
        Matrix<double> a(runtime, rows, cols), b(runtime, b_rows, 1), x(runtime, b_rows, x_cols);
        try {
            mixed_solve(runtime, a, b, x, options);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(mentions(refusal(4, 5, 4, 1, {}), "A is 4 x 5"));
    CHECK(mentions(refusal(4, 4, 5, 1, {}), "B has 5 rows"));
    CHECK(mentions(refusal(4, 4, 4, 2, {}), "X is 4 x 2"));
    CHECK(mentions(refusal(4, 4, 4, 1, {.iteration_limit = -1}), "iteration_limit"));
    CHECK(mentions(refusal(4, 4, 4, 1, {.tolerance = 0}), "tolerance"));
    CHECK(mentions(refusal(4, 4, 4, 1, {.mode = FactorMode::cpu, .products = ProductPrecision::fp16}),
                   "MixedOptions::products = fp16 in mode cpu"));
    CHECK(mentions(refusal(4, 4, 4, 1, {.method = MixedMethod::cholesky, .products = ProductPrecision::tf32}),
                   "mode cpu"));
}
