// LU in the modes hybrid and gpu on emulated GPUs, against LAPACK and against the cores alone.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/tf32.hpp"
#include "tests/device_tasks.hpp"
#include "tests/gate.hpp"
#include "tests/hybrid_lu_cases.hpp"
#include "tests/mentions.hpp"
#include "tests/panels_alone.hpp"

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

TEST_CASE("LU's panels on one of several GPUs go alone where the table says so, and the factors are the same") {
    const LuShape shape{200, 190, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
    std::vector<Factored<double>> factored;
    for (const Index columns : {Index{0}, any_size}) {
        Config config = LuMachine{.gpus = 3}.config();
        config.tuning = tables_with_panels_alone_below(columns);
        Runtime runtime(config);
        runtime.start_trace();
        factored.push_back(factor(runtime, a, shape, gpu_alone(16)));
        if (columns > 0) check_panels_alone(runtime.take_trace());
    }
    CHECK(factored[0].lu.values == factored[1].lu.values);
    CHECK(factored[0].pivots == factored[1].pivots);
}

TEST_CASE("panels of LU that go alone in blocks of panels, in mode hybrid and under a cap give the same factors") {
    const LuShape shape{200, 190, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
    LuOptions blocks = gpu_alone(16), late = hybrid(16);
    blocks.coarse_width = 64;
    late.gpu_panels_below = 120;
    for (const LuOptions& options : {blocks, late, gpu_alone(16)}) {
        const bool capped = options.mode == LuMode::gpu && options.coarse_width <= 0;
        std::vector<Factored<double>> factored;
        for (const Index columns : {Index{0}, any_size}) {
            const Watchdog watchdog;
            Config config = LuMachine{.gpus = 3, .memory = capped ? std::size_t{160'000} : 0}.config();
            config.tuning = tables_with_panels_alone_below(columns);
            Runtime runtime(config);
            factored.push_back(factor(runtime, a, shape, options));
        }
        INFO(name_of(options));
        CHECK(factored[0].lu.values == factored[1].lu.values);
        CHECK(factored[0].pivots == factored[1].pivots);
    }
}

TEST_CASE("the team of the cores' panel shrinks with the panel's height") {
    const auto tables = std::make_shared<TuningTables>(TuningTables::built_in());
    for (CpuTuning& cpu : tables->cpus) cpu.lu.team_beside_gpus = {.rows_a_thread = 60, .most = 3};
    Config config = LuMachine{.gpus = 1}.config();
    config.workers = 4;
    config.tuning = tables;
    Runtime runtime(config);
    runtime.start_trace();
    factor(runtime, random_dense<double>(200, 200, 3), {200, 200, {40, 40}, 20}, hybrid(20));
    std::map<int, int> members;  // of each step's panel
    for (const TraceEvent& event : runtime.take_trace().events) {
        if (event.name == "panel") ++members[event.step];
    }
    CHECK(members ==
          std::map<int, int>{{0, 3}, {1, 3}, {2, 2}, {3, 2}, {4, 2}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}});
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
        Runtime runtime(LuMachine{.gpus = 3}.config());
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

TEST_CASE("two levels of blocking give the same factors, at ragged sizes and with 1 to 3 GPUs", "[sanitize]") {
    const std::vector<LuShape> shapes{{1, 1, {8, 8}, 4},      {7, 5, {8, 8}, 2},          {97, 97, {32, 32}, 8},
                                      {130, 61, {32, 24}, 8}, {61, 130, {32, 24}, 6},     {200, 200, {64, 96}, 16},
                                      {33, 200, {16, 16}, 8}, {128, 128, {128, 128}, 16}, {150, 140, {64, 128}, 16},
                                      {90, 90, {32, 32}, 32}};
    for (const LuShape& shape : shapes) {
        for (int gpus = 1; gpus <= 3; ++gpus) {
            for (const Index block :
                 {shape.panel_width, 2 * shape.panel_width, 3 * shape.panel_width + 1, Index{1000}}) {
                const Watchdog watchdog;
                LuOptions options = gpu_alone(shape.panel_width);
                options.coarse_width = block;
                INFO("blocks of " << block);
                check_exact<double>({.gpus = gpus, .delay = std::chrono::microseconds(gpus == 3 ? 50 : 0)}, shape,
                                    options);
            }
        }
    }
    LuOptions halves = gpu_alone(32);  // panels get narrower at the end
    halves.coarse_width = 64;
    check_exact<float>({.gpus = 2}, {300, 300, {128, 128}, 32}, halves);
    halves.left_interchanges = false;
    const Dense<double> a = random_dense<double>(150, 150, 3);
    Runtime runtime(LuMachine{.gpus = 2}.config());
    const auto without = factor(runtime, a, {150, 150, {64, 64}, 16}, halves);
    halves.coarse_width = 0;
    CHECK(without.pivots == factor(runtime, a, {150, 150, {64, 64}, 16}, halves).pivots);
}

TEST_CASE("two levels of blocking where the matrix is larger than the GPUs' memory or GPUs do not reach each other") {
    LuOptions options = gpu_alone(16);
    options.coarse_width = 32;
    const LuShape shape{320, 320, {32, 32}, 16};
    check_exact<double>({.gpus = 1, .memory = 700'000}, shape, options);
    check_exact<double>({.gpus = 2, .memory = 600'000}, shape, options);
    check_exact<double>({.gpus = 3, .peers = false}, {150, 150, {32, 64}, 16}, options);
}

TEST_CASE("the library has two levels of blocking for large matrices of double on one GPU with room for them") {
    const LuShape shape{150, 140, {64, 64}, 16};
    auto tables = std::make_shared<TuningTables>(TuningTables::built_in());
    for (GpuTuning& gpu : tables->gpus) gpu.lu.blocks = {.least_order = 140, .width = 64};
    TileShape tile = shape.tile;
    const auto has_blocks = [&]<class T>(T, const LuMachine& machine, Index cols, const LuOptions& options) {
        Config config = machine.config();
        config.tuning = tables;
        Runtime runtime(config);
        runtime.start_trace();
        const auto factored =
            factor(runtime, random_dense<T>(shape.m, cols, 3), {shape.m, cols, tile, shape.panel_width}, options);
        CHECK(factored.info == 0);
        return std::ranges::count(runtime.take_trace().events, std::string("gather"), &TraceEvent::name) > 0;
    };
    LuOptions one_level = gpu_alone(16), single = gpu_alone(16), blocks = gpu_alone(16);
    one_level.coarse_width = 0;
    single.single_update_task = true;
    blocks.coarse_width = 64;
    CHECK(has_blocks(1.0, {}, 140, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0, {}, 139, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0F, {}, 140, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0, {.gpus = 2}, 140, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0, {}, 140, gpu_alone(16, 0)));
    CHECK_FALSE(has_blocks(1.0, {}, 140, one_level));
    CHECK_FALSE(has_blocks(1.0, {}, 140, single));
    CHECK_FALSE(has_blocks(1.0, {}, 140, hybrid(16)));
    Runtime runtime(LuMachine{}.config());
    const std::size_t taken = lu_gpu_bytes(runtime, blocks, shape.m, shape.n, shape.tile, sizeof(double));
    CHECK(has_blocks(1.0, {.memory = 2 * taken}, 140, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0, {.memory = 2 * taken - 2}, 140, gpu_alone(16)));
    CHECK(lu_gpu_bytes(runtime, gpu_alone(16), shape.m, shape.n, shape.tile, sizeof(double)) ==
          lu_gpu_bytes(runtime, one_level, shape.m, shape.n, shape.tile, sizeof(double)));
    tile = {64, 16};  // a panel each
    CHECK_FALSE(has_blocks(1.0, {}, 140, gpu_alone(16)));
}

TEST_CASE("LU on GPUs alone comes to its end while all cores are busy with something else") {
    const Index n = 160;
    LuOptions blocks = gpu_alone(16), single = gpu_alone(16);
    blocks.coarse_width = 32;
    single.single_update_task = true;
    for (const int gpus : {1, 3}) {
        for (const LuOptions& options : {gpu_alone(16), gpu_alone(16, 0), blocks, single}) {
            const Watchdog watchdog;
            Runtime runtime(LuMachine{.gpus = gpus, .workers = 1}.config());
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
            INFO(gpus << " GPUs, lookahead " << options.lookahead << ", blocks of " << options.coarse_width);
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
        Config config = LuMachine{.gpus = 3}.config();
        config.trace = true;
        Runtime runtime(config);
        auto a = Matrix<double>::generate(runtime, make_generator<double>("random", n, n), n, n, shape.tile);
        lu_factor(runtime, a, options);
        runtime.wait();
        std::vector<int> broadcasts(5);
        for (const basalt::TraceEvent& event : runtime.take_trace().events) {
            if (event.name == "broadcast") ++broadcasts.at(static_cast<std::size_t>(event.step));  // throws for none
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
    check_large_inverses(LuMachine{.gpus = 2}, 256, 64);
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
    const LuMachine machine{.gpus = 3, .delay = std::chrono::microseconds(50)};
    for (const LuOptions& options : with_gpu_panels(hybrid(32), shape))
        check_repeated<double>(machine, shape, options, 4, 96);
    LuOptions tf32 = gpu_alone(32);
    tf32.tf32 = true;
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
    Runtime runtime(LuMachine{.gpus = 2}.config());
    for (LuOptions options : {hybrid(32), gpu_alone(32)}) {
        INFO(name_of(options));
        const Factored<float> full = factor(runtime, a, shape, options);
        options.tf32 = true;
        const Factored<float> rounded = factor(runtime, a, shape, options);
        constexpr double times_coarser = basalt::tf32_roundoff / 0x1p-24;
        const double ratio = factor_ratio(a, rounded.lu, rounded.pivots);
        CHECK(factor_ratio(a, full.lu, full.pivots) < 30);
        CHECK(ratio < 30 * times_coarser);
        CHECK(ratio > 30);  // it was TF32
        CHECK(largest_multiplier(rounded.lu) <= 1);
    }
}

TEST_CASE("options that a precision or a mode has not are refused by name") {
    Runtime runtime(LuMachine{.gpus = 1}.config());
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
    tf32.tf32 = true;
    CHECK(mentions(refusal(a, tf32), "LuOptions::tf32 for a matrix of double"));
    CHECK(refusal(b, tf32) == "accepted");
    tf32.mode = LuMode::automatic;
    CHECK(basalt::chosen_lu_mode(runtime.tuning(), tf32, 8, 8, 1) == LuMode::gpu);
    CHECK_THROWS_AS(basalt::chosen_lu_mode(runtime.tuning(), tf32, 8, 8, 0), UsageError);
    tf32.mode = LuMode::cpu;
    CHECK(mentions(refusal(b, tf32), "LuOptions::tf32 in mode cpu"));
    LuOptions log = gpu_alone(4);
    log.panel_log = true;
    CHECK(mentions(refusal(b, log), "LuOptions::panel_log for a matrix of float"));
    CHECK(refusal(a, log) == "accepted");
    runtime.wait();
}

TEST_CASE("panels that GPUs factor show in the trace what their blocks are busy with, if asked to") {
    const Index n = 160;
    const LuShape shape{n, n, {32, 32}, 32};
    for (const bool asked : {false, true}) {
        for (LuOptions options : with_gpu_panels(hybrid(32), shape)) {
            INFO(name_of(options) << (asked ? " with a log" : ""));
            options.panel_log = asked;
            Config config = LuMachine{.gpus = 2}.config();
            config.trace = true;
            Runtime runtime(config);
            const Dense<double> a = random_dense<double>(n, n, 4);
            const Factored<double> found = factor(runtime, a, shape, options);
            CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
            const basalt::Trace trace = runtime.take_trace();
            struct Bar {
                int device;
                std::int64_t begin, end;
            };
            std::map<int, Bar> panels;  // that GPUs factored, by step
            const auto row_of = [&](const basalt::TraceEvent& event) {
                return trace.rows[static_cast<std::size_t>(event.row)];
            };
            for (const basalt::TraceEvent& event : trace.events) {
                if (event.name == "panel" && row_of(event).kind == basalt::TraceRowKind::compute) {
                    panels[event.step] = {row_of(event).device, event.begin_ns, event.end_ns};
                }
            }
            std::set<int> recorded;  // steps
            for (const basalt::TraceEvent& event : trace.events) {
                if (row_of(event).kind != basalt::TraceRowKind::block) continue;
                CHECK(row_of(event).name == "gpu " + std::to_string(row_of(event).device) + " panel block 0");
                REQUIRE(panels.count(event.step) == 1);
                CHECK(row_of(event).device == panels[event.step].device);
                CHECK(event.begin_ns >= panels[event.step].begin);
                CHECK(event.end_ns <= panels[event.step].end);
                recorded.insert(event.step);
            }
            CHECK(recorded.size() == (asked ? panels.size() : 0));
        }
    }
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

TEST_CASE("a lookahead that panels on GPUs have not is refused; automatic takes the mode that has it") {
    Runtime runtime(LuMachine{.gpus = 1}.config());
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

TEST_CASE("panels wider than GPUs take are narrower there") {
    const Index n = basalt::widest_gpu_panel + 100;
    const LuShape shape{n, n, {n, n}, n};
    const Dense<float> a = random_dense<float>(n, n, 5);
    Runtime runtime(LuMachine{.gpus = 1}.config());
    LuOptions options = gpu_alone(n);
    options.narrow_at_end = false;
    const Factored<float> got = factor(runtime, a, shape, options);
    CHECK(factor_ratio(a, got.lu, got.pivots) < 30);
}

TEST_CASE("a factorization that a device fails reports it once and leaves the runtime usable") {
    for (const LuOptions& options : {hybrid(16), gpu_alone(16)}) {
        for (const std::uint64_t failing : {2, 5, 11}) {
            for (const bool kernel : {true, false}) {
                const Watchdog watchdog;
                INFO(name_of(options) << ", " << (kernel ? "kernel " : "copy ") << failing << " fails");
                Config config = LuMachine{.gpus = 2}.config();
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
