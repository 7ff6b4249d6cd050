// Mixed precision on emulated GPUs, whose twins round operands as GPUs do.
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "tests/common/mentions.hpp"
#include "tests/tasks/mixed/mixed_cases.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr std::array all_products{ProductPrecision::plain, ProductPrecision::split_bf16, ProductPrecision::split_fp16,
                                  ProductPrecision::tf32,  ProductPrecision::bf16,       ProductPrecision::fp16};

}  // namespace

TEST_CASE("every precision of the factors gives answers of double precision in both modes with GPUs",
          "[mixed][sanitize]") {
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        const Dense<double> a = random_dense<double>(200, 200, 71), positive = spd(200, 72),
                            b = random_dense<double>(200, 2, 73);
        for (const FactorMode mode : {FactorMode::gpu, FactorMode::hybrid}) {
            for (const ProductPrecision products : all_products) {
                INFO(gpus << " GPUs, " << (mode == FactorMode::gpu ? "gpu, " : "hybrid, ") << name_of(products));
                MixedOptions options{.mode = mode, .products = products};
                options.lu.panel_width = options.cholesky.panel_width = 32;
                const MixedAnswer general = mixed_answer(runtime, a, b, options, {64, 64});
                check_answer(general, a, b);
                CHECK_FALSE(general.result.fell_back());
                CHECK(general.result.products == products);
                options.method = MixedMethod::cholesky;
                const MixedAnswer symmetric = mixed_answer(runtime, positive, b, options, {64, 64});
                check_answer(symmetric, positive, b);
                CHECK_FALSE(symmetric.result.fell_back());
            }
        }
    }
}

TEST_CASE("lower precision takes more corrections", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    const Dense<double> a = random_dense<double>(300, 300, 74), b = random_dense<double>(300, 1, 75);
    const auto iterations = [&](ProductPrecision products) {
        MixedOptions options{.mode = FactorMode::gpu, .products = products, .refinement = Refinement::gmres};
        options.lu.panel_width = 32;
        return mixed_answer(runtime, a, b, options, {64, 64}).result.iterations;
    };
    const int single = iterations(ProductPrecision::split_bf16);
    CHECK(iterations(ProductPrecision::plain) == single);
    CHECK(iterations(ProductPrecision::split_fp16) <= single + 1);
    CHECK(iterations(ProductPrecision::fp16) > single);
    CHECK(iterations(ProductPrecision::tf32) > single);
    CHECK(iterations(ProductPrecision::bf16) > iterations(ProductPrecision::fp16));
}

TEST_CASE("elements that overflow fp16 are scaled", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    for (const double scale : {1e6, 1e-9, 1e300}) {
        Dense<double> a = random_dense<double>(120, 120, 76);
        for (double& x : a.values) x *= scale;
        const Dense<double> b = random_dense<double>(120, 1, 77);
        for (const ProductPrecision products : {ProductPrecision::fp16, ProductPrecision::split_fp16}) {
            const MixedAnswer answer =
                mixed_answer(runtime, a, b, {.mode = FactorMode::gpu, .products = products}, {32, 32});
            check_answer(answer, a, b);
            CHECK_FALSE(answer.result.fell_back());
        }
    }
}

TEST_CASE("growth that overflows fp16 falls back and says so", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    const Dense<double> a = generated<double>("wilkinson", 60, 60), b = random_dense<double>(60, 1, 78);
    for (const ProductPrecision products : all_products) {
        INFO(name_of(products));
        MixedOptions options{.mode = FactorMode::gpu, .products = products};
        options.lu.panel_width = 8;
        const MixedAnswer answer = mixed_answer(runtime, a, b, options, {16, 16});
        // the others fall back too: elements grow by 2^59
        const bool half = products == ProductPrecision::fp16 || products == ProductPrecision::split_fp16;
        CHECK(answer.result.outcome == (half ? MixedOutcome::breakdown : MixedOutcome::stagnation));
        CHECK(answer.a.values == a.values);
    }
}

TEST_CASE("singular systems and those that are not finite are known on GPUs", "[mixed]") {
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        const Dense<double> b = random_dense<double>(100, 1, 91);
        Dense<double> singular = random_dense<double>(100, 100, 92), indefinite = spd(100, 93);
        for (Index i = 0; i < 100; ++i) singular(i, 70) = 0;
        indefinite(40, 40) = -1;
        MixedOptions options{.mode = FactorMode::gpu};
        const MixedAnswer general = mixed_answer(runtime, singular, b, options, {32, 32});
        CHECK(general.result.info == 71);
        CHECK(general.result.outcome == MixedOutcome::breakdown);
        CHECK(general.a.values == singular.values);
        for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            Dense<double> a = random_dense<double>(100, 100, 94), wrong = b;
            wrong(7, 0) = bad;
            CHECK(mixed_answer(runtime, a, wrong, options, {32, 32}).result.outcome == MixedOutcome::not_finite);
            a(50, 30) = bad;
            CHECK(mixed_answer(runtime, a, b, options, {32, 32}).result.outcome == MixedOutcome::not_finite);
        }
        const Dense<double> graded = generated<double>("graded", 200, 200, 3), right = random_dense<double>(200, 1, 95);
        check_answer(mixed_answer(runtime, graded, right, options, {64, 64}), graded, right);
        options.method = MixedMethod::cholesky;
        const MixedAnswer symmetric = mixed_answer(runtime, indefinite, b, options, {32, 32});
        CHECK(symmetric.result.info == 41);
        CHECK(symmetric.result.outcome == MixedOutcome::breakdown);
    }
}

TEST_CASE("pivots that are rounding errors end the factorization on GPUs", "[mixed]") {
    for (const int gpus : {1, 2}) {
        Config config = GpuMachine{.gpus = gpus}.config();
        config.workers = 1;
        check_pivots_are_watched(config, FactorMode::gpu);
        check_pivots_are_watched(config, FactorMode::hybrid);
    }
}

TEST_CASE("any condition and scale gets an answer on GPUs too, and the input stays", "[mixed]") {
    Runtime runtime(GpuMachine{.gpus = 2, .delay = std::chrono::microseconds(20)}.config());
    const Dense<double> b = random_dense<double>(150, 1, 79);
    for (const double condition : {1e4, 1e8, 1e12, 1e16}) {
        for (const ProductPrecision products : {ProductPrecision::split_fp16, ProductPrecision::bf16}) {
            INFO("condition " << condition << ", " << name_of(products));
            const Dense<double> a = conditioned(150, condition, 80);
            const MixedAnswer answer =
                mixed_answer(runtime, a, b, {.mode = FactorMode::gpu, .products = products}, {64, 64});
            check_answer(answer, a, b);
            CHECK(answer.a.values == a.values);
        }
    }
    Dense<double> scaled = random_dense<double>(150, 150, 81);
    scale_rows_and_columns(scaled, 498, 82);
    check_answer(mixed_answer(runtime, scaled, b, {.mode = FactorMode::gpu}, {64, 64}), scaled, b);
}

TEST_CASE("badly scaled rows and columns hide no error of a component on GPUs", "[mixed]") {
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const int exponent : {26, 400}) {
            const ScaledSystem general = scaled_system(random_dense<double>(130, 130, 87), exponent, 88);
            const ScaledSystem positive = scaled_system(spd(130, 89), exponent, 90, true);
            for (const ProductPrecision products :
                 {ProductPrecision::split_fp16, ProductPrecision::fp16, ProductPrecision::bf16}) {
                INFO(gpus << " GPUs, scaled by up to 2^" << exponent << ", " << name_of(products));
                MixedOptions options{.mode = FactorMode::gpu, .products = products};
                options.lu.panel_width = options.cholesky.panel_width = 32;
                const MixedAnswer answer = mixed_answer(runtime, general.a, general.b, options, {64, 64});
                CHECK_FALSE(answer.result.fell_back());
                CHECK(component_error(answer.x, general.x) < 1e-9);
                options.method = MixedMethod::cholesky;
                const MixedAnswer symmetric = mixed_answer(runtime, positive.a, positive.b, options, {64, 64});
                CHECK_FALSE(symmetric.result.fell_back());
                CHECK(component_error(symmetric.x, positive.x) < 1e-9);
            }
        }
    }
}

TEST_CASE("GPUs generate a matrix again for each residual", "[mixed]") {
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    const Dense<double> a = generated<double>("random", 130, 130, 5), b = random_dense<double>(130, 1, 83);
    Matrix<double> right = to_tiles(runtime, b), x(runtime, 130, 1);
    const MixedResult result = mixed_solve(runtime, make_generator<double>("random", 130, 130, 5), right, x, {64, 32},
                                           {.mode = FactorMode::gpu, .products = ProductPrecision::fp16});
    check_answer({result, from_tiles(runtime, x), a}, a, b);
    CHECK_FALSE(result.fell_back());
    const std::shared_ptr<const Generator<double>> other = make_generator<double>("kahan", 130, 130);
    CHECK_THROWS_AS(mixed_solve(runtime, other, right, x, {64, 32}, {.mode = FactorMode::gpu}), UsageError);
}

TEST_CASE("dsgesv and dsposv use the GPUs", "[mixed]") {
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    const Dense<double> a = random_dense<double>(150, 150, 84), positive = spd(150, 85),
                        b = random_dense<double>(150, 2, 86);
    for (const int limit : {30, 0}) {
        Dense<double> after = a, x(150, 2), factored = positive, y(150, 2);
        std::vector<Index> pivots(150);
        MixedOptions options{.mode = FactorMode::gpu, .iteration_limit = limit};
        const MixedResult general = dsgesv(runtime, 150, 2, after.values.data(), after.ld, pivots.data(),
                                           b.values.data(), b.ld, x.values.data(), x.ld, options);
        check_answer({general, x, after}, a, b);
        CHECK(general.fell_back() == (limit == 0));
        CHECK((after.values == a.values) == (limit > 0));
        if (limit == 0) CHECK(factor_ratio(a, after, pivots) < 30);
        const MixedResult symmetric = dsposv(runtime, Triangle::upper, 150, 2, factored.values.data(), factored.ld,
                                             b.values.data(), b.ld, y.values.data(), y.ld, options);
        check_answer({symmetric, y, factored}, positive, b);
        CHECK(symmetric.fell_back() == (limit == 0));
    }
}
