// LU in the modes hybrid and gpu on the GPUs there are: one, two and four of them, whole matrices and matrices larger
// than the memory cap.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/common/real_gpus.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"
#include "tests/tasks/lu/scaled_column_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Numbers of GPUs to test with.
std::vector<int> gpu_counts() {
    std::vector<int> counts;
    for (const int count : {1, 2, 4}) {
        if (count <= gpus_here()) counts.push_back(count);
    }
    return counts;
}

GpuMachine machine(int gpus, std::size_t memory = 0, int workers = 4) {
    return {.gpus = gpus, .workers = workers, .memory = memory, .emulated = false};
}

}  // namespace

TEST_CASE("hybrid LU on GPUs gives what the cores give, at ragged sizes", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const std::vector<LuShape> shapes{{1, 1, {8, 8}, 4},           {97, 97, {16, 32}, 16},
                                      {130, 61, {32, 24}, 8},      {61, 130, {32, 24}, 10},
                                      {700, 700, {128, 256}, 64},  {1000, 1000, {256, 512}, 128},
                                      {1500, 640, {128, 128}, 32}, {640, 1500, {128, 256}, 128}};
    for (const int gpus : gpu_counts()) {
        for (const LuShape& shape : shapes) {
            const Watchdog watchdog;
            check_exact<double>(machine(gpus), shape, hybrid(shape.panel_width));
            check_exact<double>(machine(gpus), shape, hybrid(shape.panel_width, 2));
            check_exact<float>(machine(gpus), shape, hybrid(shape.panel_width));
        }
    }
}

TEST_CASE("the variants for comparison give the same factors on GPUs", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const LuShape shape{900, 900, {128, 256}, 64};
    for (const int gpus : gpu_counts()) {
        const Watchdog watchdog;
        LuOptions options = hybrid(64);
        options.single_update_task = true;
        check_exact<double>(machine(gpus), shape, options);
        options = hybrid(64);
        options.broadcast_from_host = true;
        check_exact<double>(machine(gpus), shape, options);
        options = hybrid(64);
        options.solve_by_inverse = false;
        check_exact<double>(machine(gpus), shape, options);
    }
}

TEST_CASE("the next panel's columns are updated in one kernel or in three on GPUs", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : gpu_counts()) {
        const double difference = difference_by_leading_rows(machine(gpus));
        // sums are in another order where GPUs have the kernel
        const bool has_kernel = Runtime(machine(gpus).config()).tuning().gpu.lu.leading_rows > 0;
        CHECK((difference > 0) == has_kernel);
        CHECK(difference < 1e-10);
    }
}

TEST_CASE("a matrix larger than the memory cap is factored on GPUs in column groups", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    // 2000 columns of 2048 doubles in tile columns of 128: 2.1 MB each, 33 MB in all
    const LuShape shape{2000, 2000, {128, 128}, 64};
    for (const int gpus : gpu_counts()) {
        for (const std::size_t memory : {8'000'000, 12'000'000, 20'000'000}) {
            const Watchdog watchdog;
            check_exact<double>(machine(gpus, memory), shape, hybrid(64));
        }
    }
}

TEMPLATE_TEST_CASE("LU on real GPUs has LAPACK's residual at ragged, tall and wide sizes", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : gpu_counts()) {
        check_residuals<TestType>(machine(gpus), {{1, 1, {8, 8}, 4},
                                                  {131, 257, {96, 64}, 40},
                                                  {1100, 300, {128, 128}, 64},
                                                  {300, 1100, {128, 128}, 64},
                                                  {1501, 1501, {256, 512}, 256}});
    }
}

TEMPLATE_TEST_CASE("LU on real GPUs has LAPACK's pivots where rounding cannot change them", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : gpu_counts()) {
        check_pivots<TestType>(machine(gpus), {{120, 120, {32, 32}, 16},
                                               {500, 261, {64, 96}, 48},
                                               {261, 500, {64, 96}, 48},
                                               {600, 600, {128, 256}, 128}});
    }
}

TEST_CASE("columns of any scale are factored on GPUs with the digits of single precision", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    // large enough for products by slices
    for (const int gpus : gpu_counts()) check_digits_of_scaled_columns(machine(gpus), {3300, 3400, {512, 512}, 256});
}

TEST_CASE("the error of LU on real GPUs is at most twice that of LAPACK or of plain loops", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_errors<double>(machine(1), {"random", "hpl", "graded", "wilkinson"}, 500, 256);
    check_errors<double>(machine(1), {"spd"}, 500, 256, lapack_or_plain_error<double>);
}

TEST_CASE("hybrid LU solves by substitution where inverses are large, on real GPUs", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_large_inverses(machine(gpu_counts().back()), 512, 128);
}

TEST_CASE("INFO of an exactly singular matrix on real GPUs is LAPACK's and the factors are complete", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const LuShape& shape :
         {LuShape{300, 300, {128, 128}, 64}, {500, 260, {64, 96}, 48}, {260, 500, {64, 96}, 48}}) {
        check_singular(machine(gpu_counts().back()), shape);
    }
}

TEMPLATE_TEST_CASE("NaN and infinity on real GPUs never hang LU nor choose a row outside", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_no_numbers<TestType>(machine(gpu_counts().back()), {310, 300, {128, 128}, 64});
}

TEST_CASE("200 runs on real GPUs give the same bits while the machine has other work", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const LuShape shape{3000, 3000, {512, 512}, 128};
    for (const int gpus : std::set<int>{1, gpus_here()}) {
        check_repeated<double>(machine(gpus), shape, gpu_alone(128), 200, 1000);
        for (const LuOptions& options : with_gpu_panels(hybrid(128), shape)) {
            check_repeated<double>(machine(gpus), shape, options, 30, 1000);
        }
        LuOptions tf32 = gpu_alone(128);
        tf32.products = basalt::ProductPrecision::tf32;
        check_repeated<float>(machine(gpus), shape, tf32, 30, 1000);
    }
}

TEST_CASE("in TF32 LU on real GPUs is as accurate as that, and in full precision where it is not asked for", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const LuShape shape{1500, 1500, {256, 256}, 128};
    const Dense<float> a = random_dense<float>(shape.m, shape.n, 3);
    Runtime runtime(machine(gpu_counts().back()).config());
    for (LuOptions options : {hybrid(128), gpu_alone(128)}) {
        INFO(name_of(options));
        const Factored<float> full = factor(runtime, a, shape, options);
        options.products = basalt::ProductPrecision::tf32;
        const Factored<float> rounded = factor(runtime, a, shape, options);
        const double ratio = factor_ratio(a, rounded.lu, rounded.pivots),
                     full_ratio = factor_ratio(a, full.lu, full.pivots);
        CHECK(full_ratio < 1);  // of TF32 it would be far above
        CHECK(ratio < 30 * roundoff_of(basalt::ProductPrecision::tf32) / 0x1p-24);
        CHECK(ratio > 10 * full_ratio);
        CHECK(largest_multiplier(rounded.lu) <= 1);
    }
}

TEST_CASE("the trace of LU on real GPUs shows what the blocks of panels are busy with, if asked to", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Index n = 2500;
    Config config = machine(gpu_counts().back()).config();
    config.trace = true;
    Runtime runtime(config);
    LuOptions options = gpu_alone(256);
    options.panel_log = true;
    const Dense<double> a = random_dense<double>(n, n, 4);
    const Factored<double> found = factor(runtime, a, {n, n, {512, 512}, 256}, options);
    CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
    const Trace trace = runtime.take_trace();
    const auto kind_of = [&](const TraceEvent& event) { return trace.rows[static_cast<std::size_t>(event.row)].kind; };
    std::map<int, TraceEvent> panels;
    for (const TraceEvent& event : trace.events) {
        if (event.name == "panel" && kind_of(event) == TraceRowKind::compute) panels[event.step.value()] = event;
    }
    constexpr std::int64_t slack = 20'000;  // what clocks may differ by
    std::map<int, int> recorded;
    bool inside = true;
    for (const TraceEvent& event : trace.events) {
        if (kind_of(event) != TraceRowKind::block) continue;
        ++recorded[event.step.value()];
        const TraceEvent& panel = panels[*event.step];
        inside = inside && panel.begin_ns - slack <= event.begin_ns && event.end_ns <= panel.end_ns + slack;
    }
    CHECK(inside);
    CHECK(recorded.size() == panels.size());
}

TEST_CASE("a matrix made on the GPUs, and one that starts and ends in a GPU's memory", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Index n = 777;
    const LuShape shape{n, n, {128, 256}, 64};
    const Dense<double> a = generated<double>("random", n, n, 5);
    Runtime runtime(machine(gpu_counts().back()).config());
    const std::shared_ptr<const Generator<double>> generator = make_generator<double>("random", n, n, 5);
    for (const LuOptions& options : {hybrid(64), gpu_alone(64)}) {
        const Factored<double> expected = factor(runtime, a, shape, options);
        auto made = Matrix<double>::generate(runtime, generator, n, n, shape.tile, Place::any());
        const auto lu = lu_factor(runtime, made, options);
        Dense<double> got(n, n);
        made.store(got.view());
        runtime.wait();
        CHECK(lu.pivots() == expected.pivots);
        CHECK(largest_difference(got, expected.lu) == 0);
    }
}
