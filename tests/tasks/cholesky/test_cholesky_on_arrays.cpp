// Cholesky on emulated GPUs of the user's arrays, its other triangle and its errors.
#include <algorithm>

#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/host_array.hpp"
#include "tests/tasks/cholesky/gpu_cholesky_cases.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("an upper triangle on GPUs takes no second matrix", "[cholesky]") {
    const Index n = 500, nb = 16;
    for (const CholeskyOptions& options : with_gpu_panels(n, nb)) {
        for (const int gpus : {1, 3}) {
            Runtime runtime(GpuMachine{.gpus = gpus}.config());
            auto a = Matrix<double>::generate(runtime, make_generator<double>("spd", n, n, 3), n, n, {64, 64},
                                              basalt::Place::any());
            runtime.wait();
            detail::gpu_memory(runtime).forget_most_in_use();
            const auto column = static_cast<std::uint64_t>(512 * 64) * sizeof(double);
            const std::uint64_t columns = (8 + static_cast<std::uint64_t>(gpus) - 1) / static_cast<std::uint64_t>(gpus);
            runtime.start_trace();
            CHECK(cholesky_factor(runtime, a, Triangle::upper, options).info() == 0);
            runtime.wait();
            const std::uint64_t panel = static_cast<std::uint64_t>(n * nb) * sizeof(double);
            const std::uint64_t most = runtime.statistics().most_gpu_bytes;
            INFO(text(options) << ", " << gpus << " GPUs: " << most << " bytes, " << columns * column
                               << " of the matrix");
            CHECK(most >= columns * column);
            // three panels in flight, the data they are collected from, and the band of the other side
            CHECK(most <= columns * column + 5 * panel + columns * 64 * nb * sizeof(double) + 32768);
            int transposed = 0;
            for (const auto& event : runtime.take_trace().events) transposed += std::string(event.name) == "transpose";
            CHECK(transposed == 0);
        }
    }
}

TEST_CASE("the other side of the diagonal may be given up", "[cholesky]") {
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const Triangle triangle : both_triangles) {
            CholeskyOptions options = on_gpus(FactorMode::gpu, 32);
            options.keep_other_side = false;
            const Dense<double> a = spd_dense<double>(triangle, 150, 4);
            const auto got = factor(runtime, triangle, a, {32, 64}, options);
            CHECK(got.info == 0);
            CHECK(cholesky_ratio(triangle, a, got.factor) < 30);
        }
    }
}

TEST_CASE("what is saved of the other side leaves the GPUs when it is restored", "[cholesky]") {
    const Watchdog watchdog;
    const Dense<double> a = spd_dense<double>(Triangle::lower, 320, 3);
    for (const int gpus : {1, 2}) {
        for (const std::size_t memory : {0, 450'000}) {
            std::vector<std::size_t> in_use;
            for (const bool kept : {false, true}) {
                Runtime runtime(GpuMachine{.gpus = gpus, .memory = memory}.config());
                auto matrix = Matrix<double>::from_columns(runtime, a.values.data(), 320, 320, a.ld, {32, 32});
                CholeskyOptions options = on_gpus(FactorMode::gpu, 32);
                options.keep_other_side = kept;
                const auto cholesky = cholesky_factor(runtime, matrix, Triangle::lower, options);
                runtime.wait();
                in_use.push_back(detail::gpu_memory(runtime).in_use(0));
            }
            CHECK(in_use[0] == in_use[1]);
        }
    }
}

TEST_CASE("a triangle in a GPU's memory is loaded, factored and stored there", "[cholesky][sanitize]") {
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const CholeskyShape& shape : {CholeskyShape{1, {8, 8}, 8}, {100, {32, 48}, 16}, {64, {64, 64}, 32}}) {
            check_arrays_on_gpu<double>(runtime, shape,
                                        [](std::vector<double> v) { return HostArray<double>(std::move(v)); });
            check_arrays_on_gpu<float>(runtime, shape,
                                       [](std::vector<float> v) { return HostArray<float>(std::move(v)); });
        }
    }
}

TEMPLATE_TEST_CASE("potrf and posv on the user's arrays go to GPUs, with LAPACK's results and INFO", "[cholesky]",
                   float, double) {
    const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) {
        gpu.cholesky.smallest_order = 0;
        gpu.cholesky.sizes = {{any_size, 16, 16, 32}};
    });
    for (int gpus = 1; gpus <= 4; ++gpus) {
        Config config = GpuMachine{.gpus = gpus}.config();
        config.tuning = tables;
        Runtime runtime(config);
        for (const Index n : {0, 1, 33, 200}) {
            for (const Triangle triangle : both_triangles) {
                const Watchdog watchdog;
                INFO(text(triangle) << ", n = " << n << ", " << gpus << " GPUs");
                const Dense<TestType> a = spd_dense<TestType>(triangle, n, 6, 3),
                                      b = random_dense<TestType>(n, 3, 7, 2);
                runtime.start_trace();
                Dense<TestType> factor = a;
                CHECK(cholesky_factor(runtime, triangle, n, factor.values.data(), a.ld) == 0);
                const Trace trace = runtime.take_trace();
                CHECK((n == 0 || std::any_of(trace.events.begin(), trace.events.end(), [&](const TraceEvent& event) {
                           return trace.rows[static_cast<std::size_t>(event.row)].kind == TraceRowKind::compute;
                       })));
                check_on_arrays(runtime, triangle, a, b);

                if (n == 0) continue;
                Dense<TestType> indefinite = a;
                indefinite(n / 2, n / 2) = -1;
                Dense<TestType> x = b;
                CHECK(cholesky_solve(runtime, triangle, n, 3, indefinite.values.data(), a.ld, x.values.data(), x.ld) ==
                      n / 2 + 1);
                CHECK(x.values == b.values);
            }
        }
    }
}

TEST_CASE("the modes of Cholesky that need a GPU say so, and those of GPUs have no deep lookahead", "[cholesky]") {
    Config config;
    config.workers = 1;
    config.gpus = 0;
    Runtime cores(config), gpus(GpuMachine{}.config());
    Matrix<double> a(cores, 8, 8), b(gpus, 8, 8);
    for (const FactorMode mode : gpu_modes) {
        CHECK_THROWS_AS(cholesky_factor(cores, a, Triangle::lower, on_gpus(mode)), UsageError);
        CHECK_THROWS_AS(cholesky_factor(gpus, b, Triangle::lower, on_gpus(mode, 4, 2)), UsageError);
        CholeskyOptions options = on_gpus(mode);
        options.gpu_panels_below = -2;
        CHECK_THROWS_WITH(
            cholesky_factor(gpus, b, Triangle::lower, options),
            "CholeskyOptions::gpu_panels_below = -2; allowed is at least 0, or nothing: the library chooses");
    }
    CHECK(chosen_cholesky_mode(gpus.tuning(), {}, 4000, 0) == FactorMode::cpu);
    CHECK(chosen_cholesky_mode(gpus.tuning(), {}, 4000, 1) == FactorMode::gpu);
    CHECK(chosen_cholesky_mode(gpus.tuning(), {}, 100, 1) == FactorMode::cpu);
}

TEST_CASE("a Cholesky factorization that a device fails reports it once and leaves the runtime usable", "[cholesky]") {
    for (const CholeskyOptions& options : with_gpu_panels(160, 16)) {
        for (const std::uint64_t failing : {2, 5, 9}) {
            for (const bool kernel : {true, false}) {
                const Watchdog watchdog;
                INFO(text(options) << ", " << (kernel ? "kernel " : "copy ") << failing << " fails");
                Config config = GpuMachine{.gpus = 2}.config();
                (kernel ? config.emulation.failing_kernel : config.emulation.failing_copy) = failing;
                config.emulation.failing_gpu = 0;
                Runtime runtime(config);
                {
                    auto a = Matrix<double>::generate(runtime, make_generator<double>("spd", 160, 160, 2), 160, 160,
                                                      {32, 32});
                    const auto cholesky = cholesky_factor(runtime, a, Triangle::lower, options);
                    CHECK_THROWS_AS(runtime.wait(), TaskError);
                }
                runtime.wait();
                const Dense<double> a = spd_dense<double>(Triangle::lower, 160, 2);
                check_cholesky(Triangle::lower, a, factor(runtime, Triangle::lower, a, {32, 32}, options));
            }
        }
    }
}
