// LU on emulated GPUs: panels on cores, updates on devices, against LAPACK and against the cores alone.
#include <memory>
#include <string>
#include <vector>

#include "tests/hybrid_lu_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("hybrid LU gives what the cores give, at ragged sizes and with 1 to 4 GPUs", "[sanitize]") {
    const std::vector<LuShape> shapes{{1, 1, {8, 8}, 4},       {7, 5, {8, 8}, 4},      {5, 7, {8, 8}, 8},
                                    {97, 97, {16, 32}, 16},  {130, 61, {32, 24}, 8}, {61, 130, {32, 24}, 10},
                                    {200, 200, {64, 64}, 64}, {33, 200, {16, 16}, 16}, {128, 128, {32, 32}, 32}};
    int which = 0;
    for (const LuShape& shape : shapes) {
        for (int gpus = 1; gpus <= 4; ++gpus) {
            const Watchdog watchdog;
            const int lookahead = which++ % 4;
            check_exact<double>({.gpus = gpus}, shape, hybrid(shape.panel_width, lookahead));
        }
        check_exact<float>({.gpus = 2}, shape, hybrid(shape.panel_width));
    }
}

TEST_CASE("hybrid LU of nothing is nothing") {
    for (const LuShape& shape : {LuShape{0, 0, {8, 8}, 4}, LuShape{0, 9, {8, 8}, 4}, LuShape{9, 0, {8, 8}, 4}}) {
        check_exact<double>({.gpus = 2}, shape, hybrid(shape.panel_width));
    }
}

TEST_CASE("the variants for comparison give the same factors") {
    const LuShape shape{150, 150, {32, 48}, 16};
    for (int gpus : {1, 3}) {
        LuOptions single = hybrid(16, 2);
        single.single_update_task = true;
        check_exact<double>({.gpus = gpus}, shape, single);
        LuOptions from_host = hybrid(16);
        from_host.broadcast_from_host = true;
        check_exact<double>({.gpus = gpus}, shape, from_host);
        LuOptions one_width = hybrid(128);
        one_width.narrow_at_end = false;
        check_exact<double>({.gpus = gpus}, {300, 300, {128, 256}, 128}, one_width);
        check_exact<double>({.gpus = gpus}, {300, 300, {128, 256}, 128}, hybrid(128));
        LuOptions solve = hybrid(16);
        solve.solve_by_inverse = false;
        check_exact<double>({.gpus = gpus}, shape, solve);
    }
}

TEST_CASE("hybrid LU with slow devices, without peer access and with one worker") {
    const LuShape shape{150, 150, {32, 32}, 16};
    using std::chrono::microseconds;
    check_exact<double>({.gpus = 3, .delay = microseconds(300)}, shape, hybrid(16));
    check_exact<double>({.gpus = 3, .peers = false}, shape, hybrid(16));
    check_exact<double>({.gpus = 2, .workers = 1}, shape, hybrid(16, 2));
    check_exact<double>({.gpus = 2, .workers = 4, .delay = microseconds(100)}, shape, hybrid(16, 3));
}

TEST_CASE("a matrix larger than the GPUs' memory is factored in column groups", "[sanitize]") {
    // 320 columns of 320 doubles in tile columns of 32: 82 KB each, 820 KB in all
    const LuShape shape{320, 320, {32, 32}, 16};
    for (const std::size_t memory : {500'000, 600'000, 800'000}) {
        for (int gpus : {1, 2}) {
            const Watchdog watchdog;
            check_exact<double>({.gpus = gpus, .memory = memory}, shape, hybrid(16));
        }
    }
    check_exact<double>({.gpus = 1, .memory = 500'000}, {200, 420, {32, 32}, 16}, hybrid(16, 2));
    check_exact<double>({.gpus = 2, .memory = 500'000}, {420, 200, {32, 32}, 16}, hybrid(16, 0));
}

TEST_CASE("memory that cannot hold a task's data is refused with the task and the bytes") {
    Config config = LuMachine{.gpus = 1, .memory = 60'000}.config();
    Runtime runtime(config);
    auto a = Matrix<double>::generate(runtime, make_generator<double>("random", 300, 300), 300, 300, {32, 32});
    try {
        lu_factor(runtime, a, hybrid(16));
        FAIL("accepted");
    } catch (const DeviceError& error) {
        const std::string what = error.what();
        INFO(what);
        CHECK(error.out_of_memory());
        CHECK(what.find("task ") != std::string::npos);
        CHECK(what.find(" bytes of gpu 0") != std::string::npos);
        CHECK(what.find("59904") != std::string::npos);
    }
    runtime.wait();
    std::vector<double> still(300 * 300);
    a.store(View<double>::column_major(still.data(), 300, 300, 300));
    runtime.wait();
}

TEST_CASE("the error of hybrid LU is at most twice that of LAPACK, by inverse and by plain solve") {
    const Index n = 300;
    for (const char* name : {"random", "hpl", "spd", "graded", "wilkinson", "deficient"}) {
        const Dense<double> a = generated<double>(name, n, n, 3);
        const double expected = error_of(a, lapack_getrf(a));
        for (const bool by_inverse : {true, false}) {
            const Watchdog watchdog;
            Runtime runtime(LuMachine{.gpus = 2}.config());
            LuOptions options = hybrid(128);
            options.solve_by_inverse = by_inverse;
            const Factored<double> got = factor(runtime, a, {n, n, {64, 128}, 128}, options);
            const double error = error_of(a, got);
            INFO(name << (by_inverse ? " by inverse" : " by solve") << ": " << error << ", LAPACK " << expected);
            CHECK(error <= 2 * expected + 0.05);
        }
    }
}

TEST_CASE("growth makes hybrid LU fall back from the inverse to the plain solve") {
    // the inverse of a panel's triangle of this matrix grows as 2^nb
    const Index n = 128;
    const Dense<double> a = generated<double>("wilkinson", n, n, 0);
    Runtime runtime(LuMachine{.gpus = 1}.config());
    LuOptions options = hybrid(64);
    const Factored<double> guarded = factor(runtime, a, {n, n, {64, 64}, 64}, options);
    options.solve_by_inverse = false;
    const Factored<double> plain = factor(runtime, a, {n, n, {64, 64}, 64}, options);
    CHECK(largest_difference(guarded.lu, plain.lu) == 0);
}

TEST_CASE("singular, NaN and infinite input in hybrid mode is what it is on the cores") {
    for (const char* name : {"zero", "deficient"}) {
        const Dense<double> a = generated<double>(name, 96, 96, 5);
        Config cores;
        cores.workers = 2;
        Runtime reference(cores);
        Runtime runtime(LuMachine{.gpus = 2}.config());
        const LuShape shape{96, 96, {32, 32}, 16};
        LuOptions plain;
        plain.mode = LuMode::cpu;
        plain.panel_width = 16;
        CHECK(factor(runtime, a, shape, hybrid(16)).info == factor(reference, a, shape, plain).info);
    }
    std::vector<double> a(64 * 64, std::numeric_limits<double>::quiet_NaN());
    Runtime runtime(LuMachine{.gpus = 2}.config());
    auto matrix = Matrix<double>::from_columns(runtime, a.data(), 64, 64, 64, {16, 16});
    const auto lu = lu_factor(runtime, matrix, hybrid(16));
    runtime.wait();
    CHECK(lu.info() == 0);
}

TEST_CASE("repeated hybrid runs give the same bits") {
    const Dense<double> a = generated<double>("random", 160, 160, 11);
    const LuShape shape{160, 160, {32, 64}, 32};
    Runtime runtime(LuMachine{.gpus = 3, .delay = std::chrono::microseconds(50)}.config());
    const Factored<double> first = factor(runtime, a, shape, hybrid(32));
    for (int i = 0; i < 5; ++i) {
        const Factored<double> again = factor(runtime, a, shape, hybrid(32));
        CHECK(again.pivots == first.pivots);
        CHECK(largest_difference(again.lu, first.lu) == 0);
    }
}

TEST_CASE("hybrid mode without a GPU is refused with what would help") {
    Config config;
    config.workers = 1;
    config.gpus = 0;
    Runtime runtime(config);
    Matrix<double> a(runtime, 8, 8);
    try {
        lu_factor(runtime, a, hybrid(4));
        FAIL("accepted");
    } catch (const UsageError& error) {
        CHECK(std::string(error.what()).find("no GPU") != std::string::npos);
        CHECK(std::string(error.what()).find("emulat") != std::string::npos);
    }
}

TEST_CASE("a factorization that a device fails reports it once and leaves the runtime usable") {
    for (const std::uint64_t failing : {2, 5, 11}) {
        for (const bool kernel : {true, false}) {
            const Watchdog watchdog;
            Config config = LuMachine{.gpus = 2}.config();
            (kernel ? config.emulation.failing_kernel : config.emulation.failing_copy) = failing;
            config.emulation.failing_gpu = 0;
            Runtime runtime(config);
            const Dense<double> dense = generated<double>("integer", 160, 160, 2);
            const LuShape shape{160, 160, {32, 32}, 16};
            {
                auto a = Matrix<double>::generate(runtime, make_generator<double>("integer", 160, 160, 2), 160, 160, shape.tile);
                const auto lu = lu_factor(runtime, a, hybrid(16));
                CHECK_THROWS_AS(runtime.wait(), TaskError);
            }
            runtime.wait();
            const Factored<double> again = factor(runtime, dense, shape, hybrid(16));
            CHECK(error_of(dense, again) < 1);
        }
    }
}
