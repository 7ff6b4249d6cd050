// Where the factors of low precision solve: on a GPU, by blocks on cores and a GPU, or on cores.
#include <array>
#include <chrono>
#include <map>
#include <string>

#include "tests/common/mentions.hpp"
#include "tests/tasks/mixed/mixed_cases.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

struct Variant {
    Substitution substitution;
    int lookahead = 1;
};

constexpr std::array blocked_variants{Variant{Substitution::blocked_backward, 1},
                                      Variant{Substitution::blocked_backward, 2}, Variant{Substitution::blocked, 1},
                                      Variant{Substitution::blocked, 2}};

MixedOptions options_of(const Variant& variant, FactorMode mode = FactorMode::gpu) {
    MixedOptions options{.mode = mode, .refinement = Refinement::classic, .substitution = variant.substitution};
    options.substitution_lookahead = variant.lookahead;
    options.lu.panel_width = 32;
    return options;
}

std::string name_of(const Variant& variant) {
    return std::string(basalt::name_of(variant.substitution)) + ", lookahead " + std::to_string(variant.lookahead);
}

/// Every variant refines as `gpu` does.
void check_variants(Runtime& runtime, const Dense<double>& a, const Dense<double>& b, FactorMode mode, TileShape tile) {
    const MixedAnswer usual = mixed_answer(runtime, a, b, options_of({Substitution::gpu}, mode), tile);
    check_answer(usual, a, b);
    CHECK(usual.result.substitution == Substitution::gpu);
    const auto check = [&](const Variant& variant) {
        INFO("n = " << a.n << ", " << b.n << " right-hand sides, tiles of " << tile.width << ", " << name_of(variant));
        const MixedAnswer answer = mixed_answer(runtime, a, b, options_of(variant, mode), tile);
        check_answer(answer, a, b);
        CHECK_FALSE(answer.result.fell_back());
        CHECK(answer.result.substitution == variant.substitution);
        CHECK(answer.result.refinement == Refinement::classic);
        CHECK(std::abs(answer.result.iterations - usual.result.iterations) <= 1);
        CHECK(answer.a.values == a.values);
    };
    for (const Variant& variant : blocked_variants) check(variant);
    check({Substitution::cores});
}

}  // namespace

TEST_CASE("every substitution gives the certified answer in about as many corrections", "[mixed]") {
    Runtime runtime(GpuMachine{.delay = std::chrono::microseconds(20)}.config());
    struct Shape {
        Index n, right_hand_sides, width;
    };
    // blocks of 128 or smaller; right-hand sides that are factored with A where they fit behind it
    for (const Shape& shape : {Shape{1, 1, 64}, Shape{130, 1, 130}, Shape{300, 1, 64}, Shape{320, 2, 64},
                               Shape{500, 1, 192}, Shape{512, 1, 256}, Shape{512, 3, 256}, Shape{96, 8, 4}}) {
        const Dense<double> a = random_dense<double>(shape.n, shape.n, 101),
                            b = random_dense<double>(shape.n, shape.right_hand_sides, 102);
        check_variants(runtime, a, b, FactorMode::gpu, {64, shape.width});
    }
}

TEST_CASE("every substitution works with factors of mode hybrid", "[mixed][sanitize]") {
    Runtime runtime(GpuMachine{.delay = std::chrono::microseconds(20)}.config());
    const Dense<double> a = random_dense<double>(260, 260, 103), b = random_dense<double>(260, 1, 104);
    check_variants(runtime, a, b, FactorMode::hybrid, {64, 192});
}

TEST_CASE("blocked substitutions undo the scaling of rows, columns and right-hand sides", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    Dense<double> a = random_dense<double>(300, 300, 105), b = random_dense<double>(300, 2, 106);
    scale_rows_and_columns(a, 400, 107);
    for (Index i = 0; i < 300; ++i) b(i, 1) *= 0x1p-600;
    const ScaledSystem known = scaled_system(random_dense<double>(300, 300, 121), 400, 122);
    for (const Variant& variant : blocked_variants) {
        const MixedAnswer of_known = mixed_answer(runtime, known.a, known.b, options_of(variant), {64, 192});
        CHECK_FALSE(of_known.result.fell_back());
        CHECK(component_error(of_known.x, known.x) < 1e-9);
        const MixedAnswer answer = mixed_answer(runtime, a, b, options_of(variant), {64, 192});
        check_answer(answer, a, b);
        CHECK_FALSE(answer.result.fell_back());
    }
}

TEST_CASE("cores solve the blocks, and the GPU updates the residual meanwhile", "[mixed]") {
    Config config = GpuMachine{}.config();
    config.statistics = true;
    constexpr Index n = 512, width = 192, blocks = 5, tile_columns = 3;
    const Dense<double> a = random_dense<double>(n, n, 108), b = random_dense<double>(n, 1, 109);
    for (const Variant& variant : blocked_variants) {
        Runtime runtime(config);
        const MixedAnswer answer = mixed_answer(runtime, a, b, options_of(variant), {64, width});
        const auto solutions = static_cast<std::size_t>(answer.result.iterations) + 1;
        std::map<std::string, std::size_t> tasks;
        for (const auto& task : runtime.statistics().by_name) tasks[std::string(task.name)] += task.count;
        INFO(name_of(variant));
        // the right-hand side was factored with A: no forward substitution in the first solution
        const bool forward = variant.substitution == Substitution::blocked;
        CHECK(tasks["solve block"] == blocks * (solutions + (forward ? solutions - 1 : 0)));
        CHECK(tasks["residual"] == tile_columns * (solutions + 1));  // one more certifies the answer
    }
}

TEST_CASE("a matrix that is generated again is solved by blocks too", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    const Dense<double> a = generated<double>("random", 300, 300, 5), b = random_dense<double>(300, 1, 110);
    Matrix<double> right = to_tiles(runtime, b), x(runtime, 300, 1);
    for (const Variant& variant : blocked_variants) {
        const MixedResult result = mixed_solve(runtime, make_generator<double>("random", 300, 300, 5), right, x,
                                               {64, 160}, options_of(variant));
        check_answer({result, from_tiles(runtime, x), a}, a, b);
        CHECK_FALSE(result.fell_back());
        CHECK(result.substitution == variant.substitution);
    }
}

TEST_CASE("blocked substitutions give up as the others do, and the input stays", "[mixed]") {
    Runtime runtime(GpuMachine{}.config());
    const Dense<double> b = random_dense<double>(200, 1, 111);
    for (const double condition : {1e8, 1e12, 1e16}) {
        const Dense<double> a = conditioned(200, condition, 112);
        for (const Variant& variant : blocked_variants) {
            for (const Refinement refinement : {Refinement::classic, Refinement::automatic}) {
                INFO("condition " << condition << ", " << name_of(variant));
                MixedOptions options = options_of(variant);
                options.refinement = refinement;
                const MixedAnswer answer = mixed_answer(runtime, a, b, options, {64, 64});
                check_answer(answer, a, b);
                CHECK(answer.a.values == a.values);
            }
        }
    }
    const Dense<double> a = random_dense<double>(200, 200, 113);
    for (const int limit : {0, 1}) {
        MixedOptions options = options_of({Substitution::blocked});
        options.iteration_limit = limit;
        const MixedAnswer answer = mixed_answer(runtime, a, b, options, {64, 64});
        check_answer(answer, a, b);
        CHECK(answer.result.fell_back());
    }
    MixedOptions options = options_of({Substitution::blocked});
    options.products = ProductPrecision::fp16;
    options.refinement = Refinement::automatic;
    // many more corrections than refinement stays classic for, whatever the processor's rounding
    const Dense<double> hard = conditioned(200, 4e4, 113);
    const MixedAnswer answer = mixed_answer(runtime, hard, b, options, {64, 64});
    check_answer(answer, hard, b);
    CHECK_FALSE(answer.result.fell_back());
    CHECK(answer.result.refinement == Refinement::gmres);
}

TEST_CASE("cores can solve with factors from any number of GPUs, and from none", "[mixed]") {
    const Dense<double> a = random_dense<double>(200, 200, 114), positive = spd(200, 115),
                        b = random_dense<double>(200, 2, 116);
    for (const int gpus : {0, 1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        MixedOptions options = options_of({Substitution::cores}, gpus == 0 ? FactorMode::cpu : FactorMode::gpu);
        for (const Refinement refinement : {Refinement::classic, Refinement::gmres}) {
            options.method = MixedMethod::lu;
            options.refinement = refinement;
            const MixedAnswer general = mixed_answer(runtime, a, b, options, {64, 64});
            check_answer(general, a, b);
            options.method = MixedMethod::cholesky;
            const MixedAnswer symmetric = mixed_answer(runtime, positive, b, options, {64, 64});
            check_answer(symmetric, positive, b);
            for (const MixedResult& result : {general.result, symmetric.result}) {
                CHECK_FALSE(result.fell_back());
                CHECK(result.substitution == Substitution::cores);
            }
        }
    }
}

TEST_CASE("cores substitute where a GPU cannot keep the factors", "[mixed]") {
    const Dense<double> a = random_dense<double>(256, 256, 117), b = random_dense<double>(256, 1, 118);
    Runtime runtime(GpuMachine{.memory = 320 << 10}.config());  // factors take 256
    const MixedAnswer answer = mixed_answer(runtime, a, b, options_of({Substitution::blocked}), {64, 64});
    check_answer(answer, a, b);
    CHECK(answer.result.substitution == Substitution::cores);
}

TEST_CASE("substitutions that cannot be are refused", "[mixed]") {
    const auto message = [](const MixedOptions& options, int gpus = 1, Index right_hand_sides = 1) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        const Dense<double> a = spd(20, 119), b = random_dense<double>(20, right_hand_sides, 120);
        return error_of<UsageError>([&] { mixed_answer(runtime, a, b, options, {16, 16}); });
    };
    for (const Substitution substitution : {Substitution::blocked_backward, Substitution::blocked}) {
        CHECK(mentions(message(options_of({substitution}, FactorMode::cpu)), "mode cpu; allowed"));
        MixedOptions options = options_of({substitution});
        CHECK(mentions(message(options, 2), "2 GPUs; allowed is one"));
        CHECK(mentions(message(options, 1, 9), "9 right-hand sides; allowed are up to 8"));
        options.refinement = Refinement::gmres;
        CHECK(mentions(message(options), "refinement = gmres; allowed are auto and classic"));
        options.refinement = Refinement::automatic;
        options.method = MixedMethod::cholesky;
        CHECK(mentions(message(options), "method = cholesky; allowed is lu"));
    }
    CHECK(mentions(message(options_of({Substitution::gpu}, FactorMode::cpu)), "substitution = gpu in mode cpu"));
    for (const int lookahead : {0, 3}) {
        CHECK(mentions(message(options_of({Substitution::blocked, lookahead})),
                       "substitution_lookahead = " + std::to_string(lookahead) + "; allowed are 1 and 2"));
    }
}
