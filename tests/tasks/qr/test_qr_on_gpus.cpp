// QR in the modes hybrid and gpu on emulated GPUs, against LAPACK's ratios.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "basalt/tuning.hpp"
#include "tests/common/shown.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/on_gpus/panels_alone.hpp"
#include "tests/tasks/qr/qr_on_gpus_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEMPLATE_TEST_CASE("QR on GPUs has LAPACK's ratios at ragged sizes and with 1 to 4 GPUs", "[sanitize]", float, double) {
    using T = TestType;
    const std::vector<QrShape> shapes{{0, 0, {8, 8}, 4},          {0, 9, {8, 8}, 4},       {9, 0, {8, 8}, 4},
                                      {1, 1, {8, 8}, 4},          {7, 5, {8, 8}, 4},       {5, 7, {8, 8}, 8},
                                      {97, 97, {16, 32}, 16},     {130, 61, {32, 24}, 8},  {61, 130, {32, 24}, 10},
                                      {200, 200, {64, 64}, 64},   {33, 200, {16, 16}, 16}, {128, 128, {32, 32}, 32},
                                      {333, 333, {128, 256}, 128}};
    for (int gpus = 1; gpus <= 4; ++gpus) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const QrShape& shape : shapes) check_qr_on(runtime, random_dense<T>(shape.m, shape.n, 5), shape);
    }
}

TEST_CASE("QR with slow devices, without peer access and with one worker") {
    const QrShape shape{150, 150, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(150, 150, 6);
    for (const GpuMachine& machine : {GpuMachine{.gpus = 3, .delay = std::chrono::microseconds(200)},
                                      GpuMachine{.gpus = 3, .peers = false}, GpuMachine{.gpus = 2, .workers = 1}}) {
        Runtime runtime(machine.config());
        check_qr_on(runtime, a, shape);
    }
}

TEST_CASE("QR of a matrix larger than the GPUs' memory goes by column groups", "[sanitize]") {
    // 320 columns of 320 doubles in tile columns of 32: 82 KB each, 820 KB in all
    const Dense<double> a = random_dense<double>(320, 320, 7);
    for (const std::size_t memory : {600'000, 900'000}) {
        for (const int gpus : {1, 2}) {
            Runtime runtime(GpuMachine{.gpus = gpus, .memory = memory}.config());
            check_qr_on(runtime, a, {320, 320, {32, 32}, 16});
        }
    }
    // columns right of the last panel, and rows below it
    for (const QrShape& shape : {QrShape{200, 420, {32, 32}, 16}, {420, 200, {32, 32}, 16}}) {
        Runtime runtime(GpuMachine{.gpus = 2, .memory = 500'000}.config());
        check_qr_on(runtime, random_dense<double>(shape.m, shape.n, 7), shape);
    }
}

TEMPLATE_TEST_CASE(
    "QR on 1 to 4 GPUs of ill-conditioned, deficient and badly scaled matrices keeps residual and orthogonality", "",
    float, double) {
    using T = TestType;
    for (int gpus = 1; gpus <= 4; ++gpus) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        check_hard_matrices<T>(runtime, {{140, 140, {32, 32}, 16}});
        if (gpus == 2) {
            check_hard_matrices<T>(runtime,
                                   {{300, 70, {64, 32}, 32}, {70, 150, {32, 32}, 16}, {200, 128, {128, 128}, 128}});
        }
    }
}

TEMPLATE_TEST_CASE("panels of mode gpu keep residual and orthogonality, whatever their condition", "", float, double) {
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    check_conditions<TestType>(runtime, 300, 100);
}

TEST_CASE("a NaN is reported the same by hybrid and gpu") {
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    check_no_numbers(runtime, {120, 100, {32, 32}, 16}, 53);
}

TEMPLATE_TEST_CASE("LAPACK's ormqr and orgqr and ours agree on the factors of GPUs", "", float, double) {
    using T = TestType;
    Runtime runtime(GpuMachine{.gpus = 2}.config());
    for (const QrShape& shape : {QrShape{150, 90, {32, 32}, 16}, {60, 110, {32, 32}, 16}}) {
        const Dense<T> a = random_dense<T>(shape.m, shape.n, 8);
        for (const QrOptions& options : gpu_variants(shape)) {
            INFO(shape.m << " x " << shape.n << ", " << name_of(options.mode) << ", lookahead "
                         << shown(options.lookahead) << ", GPU panels below " << shown(options.gpu_panels_below));
            auto tiles = Matrix<T>::from_columns(runtime, a.values.data(), a.m, a.n, a.ld, shape.tile);
            const auto qr = qr_factor(runtime, tiles, options);
            const Matrix<T> q = qr_form(runtime, qr);
            QrResult<T> f{Dense<T>(a.m, a.n), qr.tau()};
            tiles.store(f.a.view());
            const Index steps = std::min(a.m, a.n);
            Dense<T> formed(a.m, steps);
            q.store(formed.view());
            runtime.wait();
            CHECK(largest_difference(formed, lapack_orgqr(f, steps)) < 100 * roundoff<T>);
            for (const QrSide side : {QrSide::left, QrSide::right}) {
                for (const QrOp op : {QrOp::plain, QrOp::transposed}) {
                    const bool left = side == QrSide::left;
                    const Dense<T> c = left ? random_dense<T>(a.m, 37, 5) : random_dense<T>(37, a.m, 5);
                    auto product = Matrix<T>::from_columns(runtime, c.values.data(), c.m, c.n, c.ld, {24, 16});
                    qr_apply(runtime, qr, side, op, product);
                    Dense<T> got(c.m, c.n);
                    product.store(got.view());
                    runtime.wait();
                    const Dense<T> expected = lapack_ormqr(left ? 'L' : 'R', op == QrOp::plain ? 'N' : 'T', f, c);
                    CHECK(largest_difference(got, expected) < 100 * roundoff<T>);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("GPUs multiply by the reflectors of LAPACK", "", float, double) {
    for (const int gpus : {1, 3})
        check_reflectors_of_lapack<TestType>(GpuMachine{.gpus = gpus}, {{150, 90}, {77, 77}, {200, 1}, {1, 1}});
}

TEMPLATE_TEST_CASE("least squares of arrays on GPUs are LAPACK's gels, INFO of deficient ones too", "", float, double) {
    using T = TestType;
    const Index nrhs = 3;
    const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) {
        gpu.qr.sizes = {{any_size, 16, 16, 32}};
    });  // several tile columns
    for (const int gpus : {1, 3}) {
        Config config = GpuMachine{.gpus = gpus}.config();
        config.tuning = tables;
        Runtime runtime(config);
        for (const auto& [m, n] : {std::array<Index, 2>{150, 60}, {60, 150}, {45, 45}, {1, 1}, {1, 30}}) {
            const Dense<T> a = random_dense<T>(m, n, 23, 2), b = random_dense<T>(std::max(m, n), nrhs, 24, 3);
            Dense<T> deficient = a;
            const Index zero = std::min(m, n) / 2;
            for (Index i = 0; i < std::max(m, n); ++i) (m >= n ? deficient(i, zero) : deficient(zero, i)) = 0;
            for (const QrOptions& options : gpu_variants({m, n, {}, 16})) {
                INFO(m << " x " << n << ", " << name_of(options.mode) << ", GPU panels below "
                       << shown(options.gpu_panels_below) << ", " << gpus << " GPUs");
                Dense<T> factors = a, x = b;
                CHECK(least_squares<T>(runtime, m, n, nrhs, factors.values.data(), factors.ld, x.values.data(), x.ld,
                                       options) == 0);
                CHECK(factors.gap_untouched());
                CHECK(x.gap_untouched());
                check_gels(a, b, x);
                factors = deficient;
                x = b;
                const bool all_zero = std::min(m, n) == 1;
                CHECK(least_squares<T>(runtime, m, n, nrhs, factors.values.data(), factors.ld, x.values.data(), x.ld,
                                       options) == (all_zero ? 0 : zero + 1));
                CHECK(x.values == (all_zero ? lapack_gels(deficient, b) : b).values);
            }
        }
    }
}

TEST_CASE("least squares and solutions of least norm of matrices in tiles are LAPACK's on GPUs") {
    const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.qr.sizes = {{any_size, 16, 16, 32}}; });
    for (const int gpus : {1, 3}) {
        Config config = GpuMachine{.gpus = gpus}.config();
        config.tuning = tables;
        Runtime runtime(config);
        for (const auto& [m, n] : {std::array<Index, 2>{150, 60}, {60, 150}, {0, 5}}) {
            for (const QrOptions& options : gpu_variants({m, n, {}, 16}))
                check_gels_in_tiles<double>(runtime, m, n, {32, 32}, options);
        }
    }
}

TEST_CASE("QR on GPUs gives the same bits again") {
    Runtime runtime(GpuMachine{.gpus = 3}.config());
    const QrShape shape{160, 160, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 9);
    for (const QrOptions& options : gpu_variants(shape)) {
        const QrResult<double> first = factor_qr(runtime, a, shape.tile, options),
                               again = factor_qr(runtime, a, shape.tile, options);
        CHECK(first.a.values == again.a.values);
        CHECK(first.tau == again.tau);
    }
}

TEST_CASE("QR's panels on one of several GPUs go alone where the table says so, and the factors are the same") {
    const Dense<double> a = random_dense<double>(200, 190, 12);
    QrOptions late = qr_options(QrMode::hybrid, 16);
    late.gpu_panels_below = 120;
    for (const QrOptions& options : {qr_options(QrMode::gpu, 16), late}) {
        INFO(name_of(options.mode));
        std::vector<QrResult<double>> factored;
        for (const Index columns : {Index{0}, any_size}) {
            Config config = GpuMachine{.gpus = 3}.config();
            config.tuning = tables_with_panels_alone_below(columns);
            Runtime runtime(config);
            runtime.start_trace();
            factored.push_back(factor_qr(runtime, a, {32, 32}, options));
            if (columns > 0) check_panels_alone(runtime.take_trace());
        }
        CHECK(factored[0].a.values == factored[1].a.values);
        CHECK(factored[0].tau == factored[1].tau);
    }
}

TEST_CASE("in mode hybrid GPUs factor the first panel of QR and those of the last rows, as far as they are asked to") {
    const Index m = 200, n = 160, width = 16;
    const Dense<double> a = random_dense<double>(m, n, 13);
    for (const int gpus : {1, 2}) {
        Runtime runtime(GpuMachine{.gpus = gpus}.config());
        for (const Index below : {Index{0}, Index{1}, Index{120}, m}) {
            QrOptions options = qr_options(QrMode::hybrid, width);
            options.gpu_panels_below = below;
            runtime.start_trace();
            check_qr(a, factor_qr(runtime, a, {32, 32}, options));
            std::set<int> on_gpus;
            const Trace trace = runtime.take_trace();
            for (const TraceEvent& event : trace.events) {
                const bool on_gpu = trace.rows[static_cast<std::size_t>(event.row)].kind == TraceRowKind::compute;
                if (event.name == "panel" && on_gpu) on_gpus.insert(event.step.value());
            }
            INFO("below " << below << ", " << gpus << " GPUs");
            for (int k = 0; k < n / width; ++k)
                CHECK(on_gpus.count(k) == (below > 0 && (k == 0 || m - k * width <= below) ? 1 : 0));
        }
    }
}

TEST_CASE("QR's panels go to GPUs where cores would not keep ahead of the columns left") {
    Tuning tuning{TuningTables::built_in().for_cpu("avx512"), TuningTables::built_in().for_gpu("sm_90")};
    tuning.cpu.qr.panel_column_seconds = 0;
    tuning.cpu.qr.panel_row_seconds = 1e-10;
    tuning.gpu.qr.update_rate = 4e12;  // an element of the columns left takes 1 ps a column of the panel
    tuning.gpu.qr.sizes = {{any_size, 7, 9, 64}};
    // whether the first panel, of m rows, is the cores': its width tells
    const auto cores_factor = [&](Index m, Index n, int gpus, std::optional<Index> given = {},
                                  QrMode mode = QrMode::hybrid) {
        QrOptions options;
        options.mode = mode;
        options.gpu_panels_below = given;
        return default_qr_panel(tuning, options, m, n, gpus) == 7;
    };
    CHECK((!cores_factor(100, 100, 1) && cores_factor(101, 101, 1)));
    CHECK((!cores_factor(300, 300, 3) && cores_factor(301, 301, 3)));
    CHECK((!cores_factor(4100, 100, 1) && cores_factor(4101, 101, 1)));  // 100 columns are left
    CHECK(cores_factor(1, 4001, 1));                                     // always more than 100 are
    CHECK(cores_factor(1, 1, 1, 0));
    CHECK((!cores_factor(70, 70, 1, 70) && cores_factor(71, 71, 1, 70)));
    CHECK(!cores_factor(1000, 1000, 1, 70, QrMode::gpu));
    tuning.cpu.qr.panel_column_seconds = 1.1e-8;
    CHECK((!cores_factor(166, 166, 1) && cores_factor(167, 167, 1)));  // r^2 = 11000 + 100 r
}

TEST_CASE("panels in mode gpu get narrower where few columns are left") {
    const auto tables = gpu_tables_with(
        [&](basalt::GpuTuning& gpu) { gpu.qr.narrowing = {.left_a_panel_column = 2, .narrowest_panel = 8}; });
    const Dense<double> a = random_dense<double>(150, 128, 11);
    for (const int gpus : {1, 2}) {
        Config config = GpuMachine{.gpus = gpus}.config();
        config.tuning = tables;
        Runtime runtime(config);
        // 32, 32, 16, 16 and four of 8, or four of 32
        for (const auto& [narrow, panels] : {std::pair{true, 8}, {false, 4}}) {
            QrOptions options = qr_options(QrMode::gpu, 32);
            options.narrow_at_end = narrow;
            runtime.start_trace();
            check_qr(a, factor_qr(runtime, a, {64, 64}, options));
            const auto events = runtime.take_trace().events;
            CHECK(std::count_if(events.begin(), events.end(),
                                [](const auto& event) { return std::string(event.name) == "panel"; }) == panels);
        }
    }
}

TEST_CASE("options that QR on GPUs does not have are refused") {
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    Matrix<double> a(runtime, 20, 20);
    CHECK_THROWS_AS(qr_factor(runtime, a, qr_options(QrMode::hybrid, 4, 2)), UsageError);
    CHECK_THROWS_AS(qr_factor(runtime, a, qr_options(QrMode::gpu, 4, 3)), UsageError);
    QrOptions options = qr_options(QrMode::hybrid, 4);
    options.gpu_panels_below = -2;
    CHECK_THROWS_WITH(qr_factor(runtime, a, options),
                      "QrOptions::gpu_panels_below = -2; allowed is at least 0, or nothing: the library chooses");
    runtime.wait();
}
