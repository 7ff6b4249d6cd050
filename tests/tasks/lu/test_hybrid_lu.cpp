// LU in the modes hybrid and gpu on emulated GPUs, against LAPACK and against the cores alone.
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/shown.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"
#include "tests/tasks/lu/scaled_column_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("hybrid LU gives what the cores give, at ragged sizes and with 1 to 4 GPUs", "[sanitize]") {
    const std::vector<LuShape> shapes{{1, 1, {8, 8}, 4},        {7, 5, {8, 8}, 4},       {5, 7, {8, 8}, 8},
                                      {97, 97, {16, 32}, 16},   {130, 61, {32, 24}, 8},  {61, 130, {32, 24}, 10},
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
        check_exact<double>({.gpus = gpus}, {400, 500, {128, 256}, 256}, hybrid(256));  // in mode gpu of 128 columns
        LuOptions solve = hybrid(16);
        solve.solve_by_inverse = false;
        check_exact<double>({.gpus = gpus}, shape, solve);
    }
}

TEST_CASE("the next panel's columns are updated in one kernel or in three, and the factors are the same") {
    for (const int gpus : {1, 2}) CHECK(difference_by_leading_rows({.gpus = gpus}) == 0);
}

TEST_CASE("panels are sent by the host, or by the GPU that factored them, where that is asked for") {
    const LuShape shape{150, 150, {32, 48}, 16};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
    const auto copying_rows = [&](LuOptions options, bool from_host) {
        options.broadcast_from_host = from_host;
        Runtime runtime(GpuMachine{.gpus = 3}.config());
        runtime.start_trace();
        factor(runtime, a, shape, options);
        std::set<std::string> rows;
        for (const TraceRow& row : runtime.take_trace().rows) rows.insert(row.name);
        return rows;
    };
    const auto by_host = copying_rows(hybrid(16), true), by_ring = copying_rows(hybrid(16), false);
    const auto by_owner = copying_rows(gpu_alone(16), true);
    for (const std::string gpu : {"gpu 0", "gpu 1", "gpu 2"}) {
        INFO(gpu);
        CHECK(by_host.count(gpu + " to peer") == 0);
        CHECK(by_host.count(gpu + " from host") == 1);
        CHECK(by_owner.count(gpu + " to peer") == 1);
    }
    CHECK(by_ring.count("gpu 0 to peer") == 1);
}

TEST_CASE("LU on GPUs alone comes to its end while all cores are busy with something else") {
    const Index n = 160;
    LuOptions blocks = gpu_alone(16), single = gpu_alone(16);
    blocks.coarse_width = 32;
    single.single_update_task = true;
    for (const int gpus : {1, 3}) {
        for (const LuOptions& options : {gpu_alone(16), gpu_alone(16, 0), blocks, single}) {
            const Watchdog watchdog;
            Runtime runtime(GpuMachine{.gpus = gpus, .workers = 1}.config());
            auto a =
                Matrix<double>::generate(runtime, make_generator<double>("random", n, n), n, n, {32, 32}, Place::any());
            runtime.wait();
            Gate gate;
            runtime.submit({.place = Place::cpu()}, [&gate] { gate.pass(); });
            gate.await_arrival();
            const auto lu = lu_factor(runtime, a, options);
            std::atomic<int> done{0};
            for (Index j = 0; j < 5; ++j) {
                runtime.submit({.place = Place::gpu(static_cast<int>(j) % gpus)}, read(a.tile(4, j)),
                               gpu_kernel([&done](basalt::Stream, basalt::View<const double>) { ++done; }));
            }
            INFO(gpus << " GPUs, lookahead " << shown(options.lookahead) << ", blocks of "
                      << shown(options.coarse_width));
            CHECK(comes_true([&done] { return done == 5; }));
            gate.open();
            runtime.wait();
            CHECK(lu.info() == 0);
        }
    }
}

TEST_CASE("copies of panels belong to the panel's step in the trace of LU on GPUs") {
    const Index n = 160;
    const LuShape shape{n, n, {32, 32}, 32};
    for (const LuOptions& options : with_gpu_panels(hybrid(32), shape)) {
        Config config = GpuMachine{.gpus = 3}.config();
        config.trace = true;
        Runtime runtime(config);
        auto a = Matrix<double>::generate(runtime, make_generator<double>("random", n, n), n, n, shape.tile);
        lu_factor(runtime, a, options);
        runtime.wait();
        std::vector<int> broadcasts(5);
        for (const basalt::TraceEvent& event : runtime.take_trace().events) {
            if (event.name == "broadcast")
                ++broadcasts.at(static_cast<std::size_t>(event.step.value()));  // throws for none
        }
        INFO(name_of(options));
        CHECK(std::count(broadcasts.begin(), broadcasts.end(), 0) == 0);
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

TEST_CASE("updates by slices solve with triangles at once or by halves") {
    const LuShape shape{230, 260, {64, 64}, 48};
    const Dense<float> a = random_dense<float>(shape.m, shape.n, 12);
    for (const Index at_once : {1, 7, 16, 48}) {
        Config config = GpuMachine{.gpus = 2}.config();
        const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.lu.solved_at_once = at_once; });
        config.tuning = tables;
        Runtime runtime(config);
        for (LuOptions options : {hybrid(48), gpu_alone(48)}) {
            options.products =
                at_once % 2 == 0 ? basalt::ProductPrecision::split_fp16 : basalt::ProductPrecision::split_bf16;
            const Factored<float> got = factor(runtime, a, shape, options);
            INFO(name_of(options) << ", at once " << at_once);
            CHECK(factor_ratio(a, got.lu, got.pivots) < 1);
        }
    }
}

TEST_CASE("columns of any scale are factored with the digits of single precision") {
    check_scaled_columns({.gpus = 1}, {150, 150, {32, 32}, 16});
    check_scaled_columns({.gpus = 2}, {90, 170, {32, 48}, 16});
    check_scaled_columns({.gpus = 3}, {170, 90, {32, 16}, 16});
    check_scaled_columns({.gpus = 1, .memory = 300'000}, {320, 330, {32, 32}, 16});
}

TEST_CASE("memory that cannot hold a task's data is refused with the task and the bytes") {
    Config config = GpuMachine{.gpus = 1, .memory = 60'000}.config();
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

TEMPLATE_TEST_CASE("LU on GPUs has LAPACK's residual at ragged, tall and wide sizes", "", float, double) {
    for (const int gpus : {1, 2, 4}) {
        check_residuals<TestType>({.gpus = gpus}, {{1, 1, {8, 8}, 4},
                                                   {31, 33, {16, 16}, 16},
                                                   {300, 40, {64, 32}, 32},
                                                   {40, 300, {64, 32}, 32},
                                                   {257, 131, {96, 64}, 40},
                                                   {131, 257, {96, 64}, 40},
                                                   {333, 333, {128, 256}, 128}});
    }
}

TEMPLATE_TEST_CASE("LU on GPUs has LAPACK's pivots where rounding cannot change them", "", float, double) {
    for (const int gpus : {1, 2, 4}) {
        check_pivots<TestType>({.gpus = gpus}, {{1, 1, {8, 8}, 4},
                                                {120, 120, {32, 32}, 16},
                                                {150, 61, {32, 24}, 8},
                                                {61, 150, {32, 24}, 10},
                                                {200, 200, {64, 96}, 40}});
    }
}

TEMPLATE_TEST_CASE("the error of LU on GPUs is at most twice that of LAPACK", "", float, double) {
    check_errors<TestType>({.gpus = 2}, {"random", "hpl", "spd", "graded", "wilkinson", "deficient"}, 300, 128);
}

TEST_CASE("hybrid LU solves by substitution where inverses are large, as accurately as LAPACK") {
    check_large_inverses(GpuMachine{.gpus = 2}, 256, 64);
}

TEST_CASE("INFO of an exactly singular matrix on GPUs is LAPACK's and the factors are complete") {
    for (const LuShape& shape : {LuShape{96, 96, {32, 32}, 16}, {130, 70, {32, 48}, 24}, {70, 130, {32, 48}, 24}}) {
        check_singular({.gpus = 2}, shape);
    }
}

TEMPLATE_TEST_CASE("NaN and infinity on GPUs never hang LU nor choose a row outside", "", float, double) {
    check_no_numbers<TestType>({.gpus = 2}, {110, 100, {32, 48}, 24});
}

TEST_CASE("repeated runs on GPUs give the same bits while the machine has other work") {
    const Watchdog watchdog;
    const LuShape shape{160, 160, {32, 64}, 32};
    const GpuMachine machine{.gpus = 3, .delay = std::chrono::microseconds(50)};
    for (const LuOptions& options : with_gpu_panels(hybrid(32), shape))
        check_repeated<double>(machine, shape, options, 4, 96);
    LuOptions tf32 = gpu_alone(32);
    tf32.products = basalt::ProductPrecision::tf32;
    check_repeated<float>(machine, shape, tf32, 4, 96);
}

TEST_CASE("200 runs on GPUs give the same bits while the machine has other work", "[.soak]") {
    const LuShape shape{600, 600, {64, 128}, 64};
    for (const int gpus : {1, 4}) {
        for (const LuOptions& options : with_gpu_panels(hybrid(64), shape)) {
            check_repeated<double>({.gpus = gpus, .delay = std::chrono::microseconds(50)}, shape, options, 200, 300);
        }
    }
}

TEST_CASE("in TF32 LU on GPUs is as accurate as that, and in full precision where it is not asked for") {
    const LuShape shape{300, 300, {64, 64}, 32};
    const Dense<float> a = random_dense<float>(shape.m, shape.n, 3);
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    for (LuOptions options : {hybrid(32), gpu_alone(32)}) {
        INFO(name_of(options));
        const Factored<float> full = factor(runtime, a, shape, options);
        options.products = basalt::ProductPrecision::tf32;
        const Factored<float> rounded = factor(runtime, a, shape, options);
        constexpr double times_coarser = roundoff_of(basalt::ProductPrecision::tf32) / 0x1p-24;
        const double ratio = factor_ratio(a, rounded.lu, rounded.pivots);
        CHECK(factor_ratio(a, full.lu, full.pivots) < 30);
        CHECK(ratio < 30 * times_coarser);
        CHECK(ratio > 30);  // it was TF32
        CHECK(largest_multiplier(rounded.lu) <= 1);
    }
}

TEST_CASE("factors may end while their solutions are prepared", "[sanitize]") {
    const Dense<double> a = random_dense<double>(96, 96, 5);
    Runtime runtime(GpuMachine{}.config());
    for (int round = 0; round < 30; ++round) {
        auto tiles = Matrix<double>::from_columns(runtime, a.values.data(), a.m, a.n, a.ld, {32, 32});
        {
            const LuFactors<double> lu = lu_factor(runtime, tiles, gpu_alone(16));
            lu_prepare_solves(runtime, lu);
        }
        runtime.wait();
    }
}

TEST_CASE("a factorization that a device fails reports it once and leaves the runtime usable") {
    for (const LuOptions& options : {hybrid(16), gpu_alone(16)}) {
        for (const std::uint64_t failing : {2, 5, 11}) {
            for (const bool kernel : {true, false}) {
                const Watchdog watchdog;
                INFO(name_of(options) << ", " << (kernel ? "kernel " : "copy ") << failing << " fails");
                Config config = GpuMachine{.gpus = 2}.config();
                (kernel ? config.emulation.failing_kernel : config.emulation.failing_copy) = failing;
                config.emulation.failing_gpu = 0;
                Runtime runtime(config);
                const Dense<double> dense = generated<double>("integer", 160, 160, 2);
                const LuShape shape{160, 160, {32, 32}, 16};
                {
                    auto a = Matrix<double>::generate(runtime, make_generator<double>("integer", 160, 160, 2), 160, 160,
                                                      shape.tile);
                    const auto lu = lu_factor(runtime, a, options);
                    CHECK_THROWS_AS(runtime.wait(), TaskError);
                }
                runtime.wait();
                const Factored<double> again = factor(runtime, dense, shape, options);
                CHECK(error_of(dense, again) < 1);
            }
        }
    }
}
