// QR in the modes hybrid and gpu on emulated GPUs, against LAPACK's ratios.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "basalt/tuning.hpp"
#include "tests/panels_alone.hpp"
#include "tests/qr_on_gpus_cases.hpp"

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
        Runtime runtime(QrMachine{.gpus = gpus}.config());
        for (const QrShape& shape : shapes) check_qr_on(runtime, random_dense<T>(shape.m, shape.n, 5), shape);
    }
}

TEST_CASE("QR with slow devices, without peer access and with one worker") {
    const QrShape shape{150, 150, {32, 32}, 16};
    const Dense<double> a = random_dense<double>(150, 150, 6);
    for (const QrMachine& machine : {QrMachine{.gpus = 3, .delay = std::chrono::microseconds(200)},
                                     QrMachine{.gpus = 3, .peers = false}, QrMachine{.gpus = 2, .workers = 1}}) {
        Runtime runtime(machine.config());
        check_qr_on(runtime, a, shape);
    }
}

TEST_CASE("QR of a matrix larger than the GPUs' memory goes by column groups", "[sanitize]") {
    // 320 columns of 320 doubles in tile columns of 32: 82 KB each, 820 KB in all
    const Dense<double> a = random_dense<double>(320, 320, 7);
    for (const std::size_t memory : {600'000, 900'000}) {
        for (const int gpus : {1, 2}) {
            Runtime runtime(QrMachine{.gpus = gpus, .memory = memory}.config());
            check_qr_on(runtime, a, {320, 320, {32, 32}, 16});
        }
    }
}

TEMPLATE_TEST_CASE(
    "QR on GPUs of ill-conditioned, deficient and badly scaled matrices keeps residual and orthogonality", "", float,
    double) {
    using T = TestType;
    Runtime runtime(QrMachine{.gpus = 2}.config());
    for (const QrShape& shape : {QrShape{140, 140, {32, 32}, 16}, {300, 70, {64, 32}, 32}}) {
        for (const HardMatrix<T>& hard : hard_matrices<T>(shape.m, shape.n)) {
            INFO(hard.what);
            check_qr_on(runtime, hard.a, shape);
        }
    }
}

TEST_CASE("a NaN is reported the same by hybrid and gpu") {
    Runtime runtime(QrMachine{.gpus = 2}.config());
    check_no_numbers(runtime, {120, 100, {32, 32}, 16}, 53);
}

TEST_CASE("Q of a factorization on GPUs multiplies, is formed and solves") {
    Runtime runtime(QrMachine{.gpus = 2}.config());
    const Dense<double> a = random_dense<double>(150, 90, 8);
    for (const QrOptions& options : gpu_variants(16)) {
        auto tiles = Matrix<double>::from_columns(runtime, a.values.data(), a.m, a.n, a.ld, {32, 32});
        const auto qr = qr_factor(runtime, tiles, options);
        const Matrix<double> q = qr_form(runtime, qr);
        Dense<double> formed(150, 90), factors(150, 90);
        q.store(formed.view());
        tiles.store(factors.view());
        runtime.wait();
        const Dense<double> expected = lapack_orgqr(QrResult<double>{factors, qr.tau()}, 90);
        double error = 0;
        for (Index j = 0; j < 90; ++j) {
            for (Index i = 0; i < 150; ++i) error = std::max(error, std::abs(formed(i, j) - expected(i, j)));
        }
        INFO(name_of(options.mode));
        CHECK(error < 1e-14);
    }
}

TEST_CASE("QR on GPUs gives the same bits again") {
    Runtime runtime(QrMachine{.gpus = 3}.config());
    const Dense<double> a = random_dense<double>(160, 160, 9);
    for (const QrOptions& options : gpu_variants(16)) {
        const QrResult<double> first = factor_qr(runtime, a, {32, 32}, options),
                               again = factor_qr(runtime, a, {32, 32}, options);
        CHECK(first.a.values == again.a.values);
        CHECK(first.tau == again.tau);
    }
}

TEST_CASE("QR's panels on one of several GPUs go alone where the table says so, and the factors are the same") {
    const Dense<double> a = random_dense<double>(200, 190, 12);
    std::vector<QrResult<double>> factored;
    for (const Index columns : {Index{0}, any_size}) {
        Config config = QrMachine{.gpus = 3}.config();
        config.tuning = tables_with_panels_alone_below(columns);
        Runtime runtime(config);
        runtime.start_trace();
        factored.push_back(factor_qr(runtime, a, {32, 32}, qr_options(QrMode::gpu, 16)));
        if (columns > 0) check_panels_alone(runtime.take_trace());
    }
    CHECK(factored[0].a.values == factored[1].a.values);
    CHECK(factored[0].tau == factored[1].tau);
}

TEST_CASE("panels in mode gpu get narrower where few columns are left") {
    auto tables = std::make_shared<TuningTables>(TuningTables::built_in());
    for (GpuTuning& gpu : tables->gpus) gpu.qr.narrowing = {.left_a_panel_column = 2, .narrowest_panel = 8};
    const Dense<double> a = random_dense<double>(150, 128, 11);
    for (const int gpus : {1, 2}) {
        Config config = QrMachine{.gpus = gpus}.config();
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

TEST_CASE("options that QR on GPUs has not are refused") {
    Runtime runtime(QrMachine{.gpus = 1}.config());
    Matrix<double> a(runtime, 20, 20);
    CHECK_THROWS_AS(qr_factor(runtime, a, qr_options(QrMode::hybrid, 4, 2)), UsageError);
    CHECK_THROWS_AS(qr_factor(runtime, a, qr_options(QrMode::gpu, 4, 3)), UsageError);
    runtime.wait();
}
