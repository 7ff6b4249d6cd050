// Cholesky in the modes hybrid and gpu on emulated GPUs, against LAPACK.
#include <algorithm>
#include <memory>
#include <optional>

#include "tests/kernels/cholesky_kernel_cases.hpp"
#include "tests/tasks/cholesky/gpu_cholesky_cases.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tiles/triangle_transfer.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

const std::vector<CholeskyShape> shapes{{0, {8, 8}, 4},      {1, {8, 8}, 4},       {7, {8, 8}, 3},
                                        {33, {16, 16}, 16},  {97, {16, 32}, 16},   {130, {32, 24}, 7},
                                        {200, {64, 64}, 64}, {257, {96, 128}, 40}, {150, {512, 256}, 48}};

}  // namespace

TEST_CASE("Cholesky on GPUs has LAPACK's residual at ragged sizes, with 1 to 4 GPUs", "[cholesky][sanitize]") {
    for (const CholeskyShape& shape : shapes) {
        for (int gpus = 1; gpus <= 4; ++gpus) check_on_gpus<double>({.gpus = gpus}, shape, gpus % 2);
        check_on_gpus<float>({.gpus = 2}, shape);
        check_on_gpus<float>({.gpus = 1}, shape);
    }
}

TEST_CASE("Cholesky on one GPU is left-looking unless asked not to be", "[cholesky]") {
    Runtime runtime(GpuMachine{}.config());
    const Dense<double> a = spd_dense<double>(Triangle::lower, 150, 3);
    for (const std::optional<bool> left : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
        CholeskyOptions options = on_gpus(FactorMode::gpu, 16);
        options.left_looking = left;
        runtime.start_trace();
        check_cholesky(Triangle::lower, a, factor(runtime, Triangle::lower, a, {32, 64}, options));
        int from_left = 0;
        for (const auto& event : runtime.take_trace().events)
            from_left += std::string(event.name) == "update from left";
        CHECK((from_left > 0) == left.value_or(true));
    }
}

TEST_CASE("on one GPU one kernel factors the last columns of a lower triangle in several tile columns", "[cholesky]") {
    const Index n = 150, nb = 16, last = 22;  // in tile columns of 64
    TileShape tile{32, 64};
    const auto panels_of = [&](int gpus, Triangle triangle, Index fused_order, bool left_looking, int lookahead) {
        Config config = GpuMachine{.gpus = gpus}.config();
        const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.cholesky.fused_order = fused_order; });
        config.tuning = tables;
        Runtime runtime(config);
        CholeskyOptions options = on_gpus(FactorMode::gpu, nb, lookahead);
        options.left_looking = left_looking;
        const Dense<double> a = spd_dense<double>(triangle, n, 3);
        runtime.start_trace();
        check_cholesky(triangle, a, factor(runtime, triangle, a, tile, options));
        const Trace trace = runtime.take_trace();
        return std::ranges::count(trace.events, std::string("panel"), &TraceEvent::name);
    };
    for (const bool left_looking : {false, true}) {
        for (const int lookahead : {0, 1}) {
            INFO("left-looking " << left_looking << ", lookahead " << lookahead);
            CHECK(panels_of(1, Triangle::lower, last, left_looking, lookahead) == 4 + 4 + 1);
            CHECK(panels_of(1, Triangle::lower, last - 1, left_looking, lookahead) == 4 + 4 + 1 + 1);
            CHECK(panels_of(1, Triangle::lower, 5, left_looking, lookahead) == 4 + 4 + 2);
            CHECK(panels_of(1, Triangle::upper, last, left_looking, lookahead) == 4 + 4 + 2);
        }
    }
    CHECK(panels_of(2, Triangle::lower, last, false, 1) == 4 + 4 + 2);
    tile = {32, 192};
    CHECK(panels_of(1, Triangle::lower, n, false, 1) ==
          10);  // of a single tile column panels are as wide as was asked for
}

TEST_CASE("where little is left to do during a panel, panels update the last columns ahead", "[cholesky]") {
    const Index n = 150, nb = 16, last = 22;  // in tile columns of 64: eight panels, and two by one kernel
    const auto updates_of = [&](double multiplications, int lookahead, Place place) {
        Config config = GpuMachine{}.config();
        const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) {
            gpu.cholesky.fused_order = last;
            gpu.cholesky.multiplications_during_panel = multiplications;
        });
        config.tuning = tables;
        Runtime runtime(config);
        CholeskyOptions options = on_gpus(FactorMode::gpu, nb, lookahead);
        options.left_looking = true;
        Dense<double> a = spd_dense<double>(Triangle::lower, n, 3);
        Matrix<double> matrix(runtime, n, n, {32, 64});
        matrix.load(a.view(), place);
        runtime.start_trace();
        const auto cholesky = cholesky_factor(runtime, matrix, Triangle::lower, options);
        CholeskyResult<double> result{a, 0};
        matrix.store(result.factor.view());
        runtime.wait();
        result.info = cholesky.info();
        check_cholesky(Triangle::lower, a, result);
        const Trace trace = runtime.take_trace();
        return std::ranges::count(trace.events, std::string("update from left"), &TraceEvent::name);
    };
    const Place gpu = Place::gpu(0);                 // emulated, so that it reads the host's array
    CHECK(updates_of(0, 1, gpu) == 6 + 1);           // panels 2 to 7, and the last two
    CHECK(updates_of(40'000, 1, gpu) == 6 + 1 + 1);  // panel 0 ahead, panels 1 to 6 with the last two's turn
    CHECK(updates_of(47'000, 1, gpu) == 6 + 2 + 1);  // panels 0 and 1 ahead
    CHECK(updates_of(1e9, 1, gpu) == 6 + 6 + 1);
    CHECK(updates_of(1e9, 0, gpu) == 7 + 1);           // nothing runs during panels
    CHECK(updates_of(1e9, 1, Place::any()) == 6 + 1);  // the last columns may arrive late
}

TEST_CASE("in mode hybrid GPUs factor the first panel and those of the last rows, as asked for or by the tables",
          "[cholesky]") {
    const Index n = 160, nb = 32;
    const auto factored = [&](const Config& config, std::optional<Index> gpu_panels_below) {
        Runtime runtime(config);
        CholeskyOptions options = on_gpus(FactorMode::hybrid, nb);
        options.gpu_panels_below = gpu_panels_below;
        const Dense<double> a = spd_dense<double>(Triangle::lower, n, 3);
        runtime.start_trace();
        check_cholesky(Triangle::lower, a, factor(runtime, Triangle::lower, a, {32, 64}, options));
        const Trace trace = runtime.take_trace();
        std::string by;  // who factors, panel by panel
        for (int k = 0; k < n / nb; ++k) {
            for (const TraceEvent& event : trace.events) {
                if (event.name != "panel" || event.step != k) continue;
                by += trace.rows[static_cast<std::size_t>(event.row)].kind == TraceRowKind::cpu ? 'c' : 'g';
            }
        }
        return by;
    };
    for (const int gpus : {1, 3}) {
        Config config = GpuMachine{.gpus = gpus}.config();
        CHECK(factored(config, 0) == "ccccc");
        CHECK(factored(config, 1) == "gcccc");
        CHECK(factored(config, 64) == "gccgg");
        CHECK(factored(config, n) == "ggggg");
        CHECK(factored(config, {}) == "ggggg");  // too few rows
        auto tables = std::make_shared<TuningTables>(TuningTables::built_in());
        for (GpuTuning& gpu : tables->gpus) gpu.cholesky.update_rate = 1e6;
        config.tuning = tables;
        for (CpuTuning& cpu : tables->cpus) cpu.cholesky.diagonal_seconds = 0;
        CHECK(factored(config, {}) == "ccccc");
        for (CpuTuning& cpu : tables->cpus) cpu.cholesky.diagonal_seconds = 4200e-6 * nb / gpus;
        CHECK(factored(config, {}) == "gccgg");  // r^2 = 4200
    }
}

TEST_CASE("Cholesky with slow devices, without peer access and with one worker", "[cholesky]") {
    using std::chrono::microseconds;
    const CholeskyShape shape{150, {32, 32}, 16};
    check_on_gpus<double>({.gpus = 3, .delay = microseconds(200)}, shape);
    check_on_gpus<double>({.gpus = 1, .delay = microseconds(200)}, shape);
    check_on_gpus<double>({.gpus = 3, .peers = false}, shape);
    check_on_gpus<double>({.gpus = 2, .workers = 1}, shape);
}

TEST_CASE("a positive definite matrix larger than the GPUs' memory is factored in column groups",
          "[cholesky][sanitize]") {
    // 320 columns of 320 doubles in tile columns of 32: 82 KB each, 820 KB in all
    for (const std::size_t memory : {450'000, 600'000, 800'000}) {
        for (const int gpus : {1, 2}) check_on_gpus<double>({.gpus = gpus, .memory = memory}, {320, {32, 32}, 16});
    }
}

TEST_CASE("panels get narrower at the end and give the same factor", "[cholesky]") {
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    const Dense<double> a = spd_dense<double>(Triangle::lower, 1100, 4);
    for (const bool narrow : {true, false}) {
        CholeskyOptions options = on_gpus(FactorMode::gpu, 512);
        options.narrow_at_end = narrow;
        check_cholesky(Triangle::lower, a, factor(runtime, Triangle::lower, a, {128, 1024}, options));
    }
}

TEST_CASE("in mode hybrid a panel's triangle travels in the strips of the transfer model, rows only for cores",
          "[cholesky]") {
    const Index n = 200, nb = 32;
    const TileShape tile{64, 64};
    const bool rows_on_cores = GENERATE(false, true);
    for (const Triangle triangle : both_triangles) {
        std::vector<Index> counts;
        for (const double rate : {1e6, 1e8, 55e9}) {
            const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.links.host_bytes_a_second = rate; });
            Config config = GpuMachine{}.config();
            config.tuning = tables;
            Runtime runtime(config);
            auto a = Matrix<double>::generate(runtime, make_generator<double>("spd", n, n, 3), n, n, tile,
                                              basalt::Place::any());
            runtime.wait();
            runtime.start_trace();
            CholeskyOptions options = on_gpus(FactorMode::hybrid, nb);
            options.narrow_at_end = false;
            options.rows_on_cores = rows_on_cores;
            const auto cholesky = cholesky_factor(runtime, a, triangle, options);
            runtime.wait();
            std::int64_t home = 0, back = 0, expected = 0;
            for (const auto& event : runtime.take_trace().events) {
                if (event.bytes > 0) (std::string(event.name) == "to host" ? home : back) += event.bytes;
            }
            for (Index first = 0; first < n; first += nb) {
                const Index width = std::min(nb, n - first);
                const auto strips = basalt::detail::strips_of_least_time(runtime.tuning().gpu, width, sizeof(double));
                if (first == 0) counts.push_back(strips.count());
                expected += strips.elements() * 8;
                if (rows_on_cores) expected += (n - first - width) * nb * 8;
            }
            INFO(text(triangle) << " at " << rate << " bytes a second, rows on cores: " << rows_on_cores);
            CHECK(home == expected);
            CHECK(back == expected);
            CHECK(cholesky.info() == 0);
            const Dense<double> before = generated<double>("spd", n, n, 3);
            Dense<double> after(n, n);
            a.store(after.view());
            runtime.wait();
            CHECK(cholesky_ratio(triangle, before, after) < 30);
            CHECK(other_side_untouched(triangle, before, after));
        }
        CHECK(counts == std::vector<Index>{32, 4, 1});
    }
}

TEST_CASE("left-looking Cholesky has LAPACK's residual, other side and INFO", "[cholesky]") {
    for (const int gpus : {1, 3}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const Triangle triangle : both_triangles) {
            if (triangle == Triangle::lower && gpus > 1) continue;
            for (const CholeskyShape& shape : shapes) {
                for (const int lookahead : {0, 1}) {
                    const Watchdog watchdog;
                    CholeskyOptions options = on_gpus(FactorMode::gpu, shape.panel_width, lookahead);
                    options.left_looking = true;
                    INFO(text(triangle) << ", n = " << shape.n << ", lookahead " << lookahead << ", " << gpus
                                        << " GPUs");
                    const Dense<double> a = spd_dense<double>(triangle, shape.n, 3);
                    check_cholesky(triangle, a, factor(runtime, triangle, a, shape.tile, options));
                    if (shape.n != 130) continue;
                    for (const Index bad : {0, 50, 129}) {
                        Dense<double> broken = a;
                        broken(bad, bad) = -1;
                        CHECK(factor(runtime, triangle, broken, shape.tile, options).info == bad + 1);
                    }
                }
            }
        }
        // single precision, where the runtime lacks memory, and where it cannot be
        CholeskyOptions options = on_gpus(FactorMode::gpu, 16);
        options.left_looking = true;
        const Dense<float> a = spd_dense<float>(Triangle::upper, 150, 3);
        runtime.start_trace();
        check_cholesky(Triangle::upper, a, factor(runtime, Triangle::upper, a, {32, 32}, options));
        int from_left = 0, updates = 0;
        for (const auto& event : runtime.take_trace().events) {
            from_left += std::string(event.name) == "update from left";
            updates += std::string(event.name) == "update";
        }
        CHECK(from_left >= 8);  // of ten panels all but the first two
        CHECK(updates == 0);
        Runtime small(GpuMachine{.gpus = gpus, .memory = 450'000}.config());
        const Dense<double> large = spd_dense<double>(Triangle::upper, 320, 3);
        check_cholesky(Triangle::upper, large, factor(small, Triangle::upper, large, {32, 32}, options));
        const Dense<double> lower = spd_dense<double>(Triangle::lower, 64, 3);
        if (gpus > 1) CHECK_THROWS_AS(factor(runtime, Triangle::lower, lower, {32, 32}, options), UsageError);
        options.mode = FactorMode::hybrid;
        CHECK_THROWS_AS(factor(runtime, Triangle::upper, lower, {32, 32}, options), UsageError);
    }
}

TEMPLATE_TEST_CASE("INFO on GPUs is that of the cores", "[cholesky][sanitize]", float, double) {
    for (const int gpus : {1, 3}) {
        for (const CholeskyOptions& options : with_gpu_panels(70, 16)) {
            const Watchdog watchdog;
            Runtime runtime(GpuMachine{.gpus = gpus}.config());
            INFO(text(options) << ", " << gpus << " GPUs");
            check_info<TestType>(runtime, 70, {32, 32}, options, {0, 1, 15, 16, 31, 32, 50, 69});
        }
    }
}

TEMPLATE_TEST_CASE("ill-conditioned matrices keep LAPACK's residual on 1 to 4 GPUs", "[cholesky]", float, double) {
    for (int gpus = 1; gpus <= 4; ++gpus) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const CholeskyOptions& options : with_gpu_panels(100, 32)) {
            INFO(text(options) << ", " << gpus << " GPUs");
            check_ill_conditioned<TestType>(runtime, 100, {64, 64}, options);
        }
    }
}

TEST_CASE("repeated Cholesky on GPUs gives the same bits", "[cholesky]") {
    Runtime runtime(GpuMachine{.gpus = 3, .delay = std::chrono::microseconds(50)}.config());
    const Dense<double> a = symmetric(Triangle::lower, spd_dense<double>(Triangle::lower, 160, 11));
    for (const int lookahead : {0, 1}) {  // which makes products of other shapes, and so may BLAS's sums be
        for (const CholeskyOptions& options : with_gpu_panels(160, 32, lookahead)) {
            const auto first = factor(runtime, Triangle::lower, a, {32, 64}, options);
            for (int i = 0; i < 3; ++i) {
                const auto again = factor(runtime, Triangle::lower, a, {32, 64}, options);
                CHECK(again.factor.values == first.factor.values);
            }
        }
    }
}

TEST_CASE("the factor of a matrix made on the GPUs solves a system", "[cholesky]") {
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    const Index n = 90;
    for (const CholeskyOptions& options : with_gpu_panels(n, 16)) {
        auto a =
            Matrix<double>::generate(runtime, make_generator<double>("spd", n, n, 1), n, n, {32, 32}, Place::any());
        const Dense<double> dense = generated<double>("spd", n, n, 1), b = random_dense<double>(n, 3, 2);
        auto x = Matrix<double>::from_columns(runtime, b.values.data(), n, 3, b.ld, {32, 32});
        cholesky_solve(runtime, cholesky_factor(runtime, a, Triangle::upper, options), x);
        Dense<double> got(n, 3);
        x.store(got.view());
        runtime.wait();
        CHECK(solve_ratio(dense, got, b) < 30);
    }
}

TEST_CASE("the CPU twin of a Cholesky panel with products in TF32 is as accurate as those", "[kernels][sanitize]") {
    CholeskyTwins twins;
    check_panels_in_tf32(twins);
}

TEMPLATE_TEST_CASE("the CPU twins of the Cholesky kernels are those of plain loops", "[kernels][sanitize]", float,
                   double) {
    CholeskyTwins twins;
    check_panels<TestType>(twins, {{1, 1}, {5, 3}, {33, 32}, {200, 129}});
    check_ill_conditioned_panels<TestType>(twins);
    check_panel_info<TestType>(twins);
    check_extreme_panels<TestType>(twins);
    check_transposed_products<TestType>(twins);
    check_band<TestType>(twins);
    check_triangle_copies<TestType>(twins);
}
