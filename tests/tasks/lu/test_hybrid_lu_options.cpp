// LU in the modes hybrid and gpu: options that they have not, and what is chosen where nothing is asked for.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tasks/lu/options.hpp"
#include "tests/common/mentions.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("options that a precision or a mode has not are refused by name") {
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    Matrix<double> a(runtime, 8, 8);
    Matrix<float> b(runtime, 8, 8);
    const auto refusal = [&](auto& matrix, const LuOptions& options) {
        try {
            lu_factor(runtime, matrix, options);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    LuOptions tf32 = gpu_alone(4);
    tf32.products = basalt::ProductPrecision::tf32;
    CHECK(mentions(refusal(a, tf32), "LuOptions::products below single precision for a matrix of double"));
    CHECK(refusal(b, tf32) == "accepted");
    tf32.mode = LuMode::automatic;
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), tf32, 8, 8, 1) == LuMode::gpu);
    CHECK_THROWS_AS(basalt::chosen_lu_mode(runtime.tuning(), tf32, 8, 8, 0), UsageError);
    tf32.mode = LuMode::cpu;
    CHECK(mentions(refusal(b, tf32), "LuOptions::products in mode cpu"));
    LuOptions log = gpu_alone(4);
    log.panel_log = true;
    CHECK(mentions(refusal(b, log), "LuOptions::panel_log for a matrix of float"));
    CHECK(refusal(a, log) == "accepted");
    runtime.wait();
}

TEST_CASE("large matrices of floats are multiplied by fp16 slices, smaller ones by bf16 slices") {
    const basalt::Tuning tuning = Runtime(GpuMachine{.gpus = 1}.config()).tuning();
    const Index large = tuning.gpu.lu.least_fp16_order;
    REQUIRE(large > 1);
    const auto products_of = [&](const LuOptions& options, Index m, Index n) {
        return basalt::detail::LuChoices(tuning, options, m, n, 1, 1).products;
    };
    CHECK(products_of(gpu_alone(4), large, large + 1) == basalt::ProductPrecision::split_fp16);
    CHECK(products_of(gpu_alone(4), 2 * large, large - 1) == basalt::ProductPrecision::split_bf16);
    LuOptions plain = gpu_alone(4);
    plain.products = basalt::ProductPrecision::plain;
    CHECK(products_of(plain, large, large) == basalt::ProductPrecision::plain);
}

TEST_CASE("the modes hybrid and gpu without a GPU are refused with what would help") {
    Config config;
    config.workers = 1;
    config.gpus = 0;
    Runtime runtime(config);
    Matrix<double> a(runtime, 8, 8);
    for (const LuOptions& options : {hybrid(4), gpu_alone(4)}) {
        try {
            lu_factor(runtime, a, options);
            FAIL("accepted");
        } catch (const UsageError& error) {
            const std::string what = error.what();
            CHECK(what.find(name_of(options)) != std::string::npos);
            CHECK(what.find("no GPU") != std::string::npos);
            CHECK(what.find("emulat") != std::string::npos);
        }
    }
}

TEST_CASE("a lookahead that panels on GPUs do not have is refused; automatic takes the mode that has it") {
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    Matrix<double> a(runtime, 8, 8);
    CHECK_THROWS_AS(lu_factor(runtime, a, gpu_alone(4, 2)), UsageError);
    LuOptions coarse = hybrid(4);
    coarse.coarse_width = 8;
    CHECK_THROWS_AS(lu_factor(runtime, a, coarse), UsageError);
    coarse = gpu_alone(4, 0);
    coarse.coarse_width = 8;
    CHECK_THROWS_AS(lu_factor(runtime, a, coarse), UsageError);
    LuOptions both = hybrid(4, 2);
    both.gpu_panels_below = 8;
    CHECK_THROWS_AS(lu_factor(runtime, a, both), UsageError);

    LuOptions automatic;
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), automatic, 4000, 4000, 0) == LuMode::cpu);
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), automatic, 4000, 4000, 2) == LuMode::gpu);
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), automatic, 100000, 100, 2) == LuMode::cpu);
    automatic.lookahead = 2;
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), automatic, 4000, 4000, 2) == LuMode::hybrid);
}

template <class T>
std::uint64_t coarse_updates() {
    Config config = GpuMachine{.gpus = 1}.config();
    config.statistics = true;
    Runtime runtime(config);
    Dense<T> source = random_dense<T>(128, 128, 4);
    Matrix<T> a(runtime, 128, 128, {16, 16});
    a.load(source.view());
    LuOptions options = gpu_alone(8);
    options.coarse_width = 32;
    lu_factor(runtime, a, options);
    runtime.wait();
    const std::vector<TaskStatistics> names = runtime.statistics().by_name;
    const auto update =
        std::find_if(names.begin(), names.end(), [](const auto& task) { return task.name == "update"; });
    return update != names.end() ? update->count : 0;
}

TEST_CASE("the first updates of doubles, and coarse ones, take tile columns one by one, and those by slices do not") {
    // beyond the blocks of 32 columns lie 6, 4 and 2 tile columns
    CHECK(coarse_updates<double>() >= coarse_updates<float>() + (6 - 1) + (4 - 1) + (2 - 1));
}

TEST_CASE("solves that do not wait for the leading update give the same bits") {
    const LuShape shape{190, 200, {48, 48}, 16};
    const auto solved_early = [&]<class T>(T, Index from, const GpuMachine& machine, const LuOptions& options) {
        Config config = machine.config();
        config.tuning = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.lu.early_solves_from = from; });
        Runtime runtime(config);
        runtime.start_trace();
        Factored<T> got = factor(runtime, random_dense<T>(shape.m, shape.n, 6), shape, options);
        const auto events = runtime.take_trace().events;
        return std::pair(std::ranges::count(events, std::string("solve"), &TraceEvent::name), std::move(got));
    };
    LuOptions blocks = gpu_alone(16);
    blocks.coarse_width = 48;
    for (const int gpus : {1, 3}) {
        INFO(gpus << " GPUs");
        const auto [never, expected] = solved_early(1.0, basalt::any_size, {.gpus = gpus}, gpu_alone(16));
        const auto [always, got] = solved_early(1.0, 0, {.gpus = gpus}, gpu_alone(16));
        const auto [at_first, same] = solved_early(1.0, 100, {.gpus = gpus}, gpu_alone(16));
        CHECK(never == 0);
        CHECK(at_first > 0);
        CHECK(always > at_first);
        for (const Factored<double>& other : {got, same}) {
            CHECK(other.lu.values == expected.lu.values);
            CHECK(other.pivots == expected.pivots);
        }
        CHECK(solved_early(1.0, 0, {.gpus = gpus}, blocks).first == 0);
        CHECK(solved_early(1.0, 0, {.gpus = gpus}, gpu_alone(16, 0)).first == 0);
        CHECK(solved_early(1.0F, 0, {.gpus = gpus}, gpu_alone(16)).first == 0);  // by slices
    }
}

TEST_CASE("panels wider than GPUs take are narrower there") {
    const Index n = basalt::widest_gpu_panel + 100;
    const LuShape shape{n, n, {n, n}, n};
    const Dense<float> a = random_dense<float>(n, n, 5);
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    LuOptions options = gpu_alone(n);
    options.narrow_at_end = false;
    const Factored<float> got = factor(runtime, a, shape, options);
    CHECK(factor_ratio(a, got.lu, got.pivots) < 30);
}
