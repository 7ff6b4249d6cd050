// LU in the modes hybrid and gpu on emulated GPUs: where and when panels are factored, blocks of them, and what they
// log.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tasks/lu/options.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/on_gpus/panels_alone.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("LU's panels on one of several GPUs go alone where the table says so, and the factors are the same") {
    const LuShape shape{200, 190, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
    std::vector<Factored<double>> factored;
    for (const Index columns : {Index{0}, any_size}) {
        Config config = GpuMachine{.gpus = 3}.config();
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
        const bool capped = options.mode == LuMode::gpu && options.coarse_width.value_or(0) == 0;
        std::vector<Factored<double>> factored;
        for (const Index columns : {Index{0}, any_size}) {
            const Watchdog watchdog;
            Config config = GpuMachine{.gpus = 3, .memory = capped ? std::size_t{160'000} : 0}.config();
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
    Config config = GpuMachine{.gpus = 1}.config();
    config.workers = 4;
    config.tuning = tables;
    Runtime runtime(config);
    const std::map<int, int> most{{0, 3}, {1, 3}, {2, 2}, {3, 2}, {4, 2}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}};
    const detail::LuChoices choices(runtime.tuning(), hybrid(20), 200, 200, 4, 1);
    for (const auto& [step, members] : most) CHECK(choices.panel_threads_for(200 - 20 * step) == members);

    runtime.start_trace();
    factor(runtime, random_dense<double>(200, 200, 3), {200, 200, {40, 40}, 20}, hybrid(20));
    std::map<int, int> members;  // of each step's panel
    for (const TraceEvent& event : runtime.take_trace().events) {
        if (event.name == "panel") ++members[event.step.value()];
    }
    CHECK(members.size() == most.size());
    // a gang leaves out threads that share their cores with other programs
    for (const auto& [step, count] : members) CHECK((1 <= count && count <= most.at(step)));
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
    Runtime runtime(GpuMachine{.gpus = 2}.config());
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
    const auto tables =
        gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.lu.blocks = {.least_order = 140, .width = 64}; });
    TileShape tile = shape.tile;
    const auto has_blocks = [&]<class T>(T, const GpuMachine& machine, Index cols, const LuOptions& options) {
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
    Runtime runtime(GpuMachine{}.config());
    const std::size_t taken = lu_gpu_bytes(runtime, blocks, shape.m, shape.n, shape.tile, sizeof(double));
    CHECK(has_blocks(1.0, {.memory = 2 * taken}, 140, gpu_alone(16)));
    CHECK_FALSE(has_blocks(1.0, {.memory = 2 * taken - 2}, 140, gpu_alone(16)));
    CHECK(lu_gpu_bytes(runtime, gpu_alone(16), shape.m, shape.n, shape.tile, sizeof(double)) ==
          lu_gpu_bytes(runtime, one_level, shape.m, shape.n, shape.tile, sizeof(double)));
    tile = {64, 16};  // a panel each
    CHECK_FALSE(has_blocks(1.0, {}, 140, gpu_alone(16)));
}

TEST_CASE("panels that GPUs factor show in the trace what their blocks are busy with, if asked to") {
    const Index n = 160;
    const LuShape shape{n, n, {32, 32}, 32};
    for (const bool asked : {false, true}) {
        for (LuOptions options : with_gpu_panels(hybrid(32), shape)) {
            INFO(name_of(options) << (asked ? " with a log" : ""));
            options.panel_log = asked;
            Config config = GpuMachine{.gpus = 2}.config();
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
                    panels[event.step.value()] = {row_of(event).device.value(), event.begin_ns, event.end_ns};
                }
            }
            std::set<int> recorded;  // steps
            for (const basalt::TraceEvent& event : trace.events) {
                if (row_of(event).kind != basalt::TraceRowKind::block) continue;
                CHECK(row_of(event).name == "gpu " + std::to_string(row_of(event).device.value()) + " panel block 0");
                REQUIRE(panels.count(event.step.value()) == 1);
                CHECK(row_of(event).device == panels[*event.step].device);
                CHECK(event.begin_ns >= panels[*event.step].begin);
                CHECK(event.end_ns <= panels[*event.step].end);
                recorded.insert(*event.step);
            }
            CHECK(recorded.size() == (asked ? panels.size() : 0));
        }
    }
}
