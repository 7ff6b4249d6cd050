// QR in the modes hybrid and gpu on the GPUs there are: panels of all shapes, whole matrices, matrices larger than the
// memory cap. Cases tagged [large] are those that compute-sanitizer would take too long for, and [medium] those that
// only its racecheck would.
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/kernels/qr_leaf_cases.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/qr/qr_on_gpus_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

using cuda_detail::QrLeafWay;

std::vector<int> gpu_counts() {
    std::vector<int> counts;
    for (const int count : {1, 2, 4}) {
        if (count <= gpus_here()) counts.push_back(count);
    }
    return counts;
}

GpuMachine machine(int gpus, std::size_t memory = 0) {
    return {.gpus = gpus, .workers = 4, .memory = memory, .emulated = false};
}

template <class T>
void check_panel(Runtime& runtime, Index m, Index k) {
    const Watchdog watchdog;
    const Dense<T> a = random_dense<T>(m, k, static_cast<unsigned>(m + 7 * k));
    INFO(m << " x " << k);
    check_qr(a, factor_qr(runtime, a, {512, 512}, qr_options(QrMode::gpu, k)));
}

/// Against LAPACK's, element by element.
template <class T>
void check_factors(Runtime& runtime, Index m, Index k) {
    const Dense<T> a = random_dense<T>(m, k, 12);
    const QrResult<T> expected = lapack_geqrf(a), got = factor_qr(runtime, a, {512, 512}, qr_options(QrMode::gpu, k));
    double error = 0;
    for (Index j = 0; j < k; ++j) {
        for (Index i = 0; i < m; ++i) error = std::max(error, double(std::abs(got.a(i, j) - expected.a(i, j))));
    }
    for (std::size_t i = 0; i < got.tau.size(); ++i)
        error = std::max(error, double(std::abs(got.tau[i] - expected.tau[i])));
    INFO(m << " x " << k);
    CHECK(error < 20000 * roundoff<T>);
}

/// A GPU on which panels of at least `rows` rows have wide leaves.
Config with_wide_leaves_from(Index rows) {
    const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.qr.wide_leaves_from = rows; });
    Config config = machine(1).config();
    config.tuning = tables;
    return config;
}

/// The way that the kernels of a leaf decide on.
template <class T>
QrLeafWay way_on_gpu(const std::vector<T>& a, Index w) {
    const bool wide = w > cuda_detail::qr_leaf_width;
    const Index m = std::ssize(a) / w;
    const std::vector<T> square(static_cast<std::size_t>(w * w));
    CudaKernels::Memory<T> panel(*gpu(), a), q1(*gpu(), a), gram(*gpu(), square), r1(*gpu(), square), x(*gpu(), square),
        r(*gpu(), square), t(*gpu(), square), compressed(*gpu(), std::vector<T>(static_cast<std::size_t>(2 * w * w))),
        parts(*gpu(),
              std::vector<T>(static_cast<std::size_t>(cuda_detail::gram_workspace(w, gpu()->multiprocessors()))));
    CudaKernels::Memory<QrLeafWay> way(*gpu(), {QrLeafWay{-1}});
    const cuda_detail::QrLeafData<T> leaf{gram.data(), r1.data(), x.data(), r.data(), t.data(), way.data()};
    const auto rows = View<T>::row_major(panel.data(), m, w, w), again = View<T>::row_major(q1.data(), m, w, w),
               top = rows.block(0, 0, w, w);
    const auto looked_at = [&](View<T> all) { return wide ? all.block(w, 0, m - w, w) : all; };
    gpu()->run([&](Stream stream) {
        cuda_detail::make_gram<T>(stream, looked_at(rows), leaf, parts.data());
        cuda_detail::factor_gram<T>(stream, m, static_cast<int>(w), leaf);
        cuda_detail::orthogonalize_again<T>(stream, looked_at(rows), looked_at(again), leaf, parts.data());
        if (wide) {
            cuda_detail::compress_leaf<T>(stream, top, View<T>::row_major(compressed.data(), 2 * w, w, w), leaf);
        } else {
            cuda_detail::reconstruct_reflectors<T>(stream, rows, again, leaf);
        }
    });
    return way.read().front();
}

template <class T>
void check_shapes(const std::vector<QrShape>& shapes) {
    for (const int gpus : gpu_counts()) {
        Runtime runtime(machine(gpus).config());
        for (const QrShape& shape : shapes) check_qr_on(runtime, random_dense<T>(shape.m, shape.n, 5), shape);
    }
}

}  // namespace

TEMPLATE_TEST_CASE("a panel of any height and width is factored on a GPU", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    for (const Index k : {1, 2, 3, 17, 63, 64, 65, 100, 128}) {
        for (const Index m : {k, k + 1, k + 63, 3 * k + 7}) check_panel<TestType>(runtime, m, k);
    }
}

TEMPLATE_TEST_CASE("a panel that is tall or wide is factored on a GPU", "[cuda][medium]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    for (const Index k : {1, 2, 3, 17, 63, 64, 65, 100, 128, 200, 256, 300}) {
        for (const Index m : {Index{2000}, Index{9001}}) check_panel<TestType>(runtime, m, k);
    }
    for (const Index k : {200, 256, 300}) {
        for (const Index m : {k, k + 1, k + 63, 3 * k + 7}) check_panel<TestType>(runtime, m, k);
    }
}

TEMPLATE_TEST_CASE("a panel on a GPU has LAPACK's factors up to rounding", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    for (const Index k : {64, 256}) check_factors<TestType>(runtime, 400, k);
}

TEMPLATE_TEST_CASE("a tall panel on a GPU has LAPACK's factors up to rounding", "[cuda][medium]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_factors<TestType>(runtime, 2000, 64);
    check_factors<TestType>(runtime, 1500, 200);
}

TEMPLATE_TEST_CASE("a panel on a GPU has wide leaves from as many rows on as the tuning table says", "[cuda][medium]",
                   float, double) {
    using T = TestType;
    if (gpus_here() == 0) SKIP(no_gpu);
    const Dense<T> a = random_dense<T>(3000, 256, 12);
    std::vector<std::vector<T>> factors;
    for (const Index rows : {3000, 3001}) {
        Runtime runtime(with_wide_leaves_from(rows));
        const auto result = factor_qr(runtime, a, {512, 512}, qr_options(QrMode::gpu, 256));
        check_qr(a, result);
        factors.push_back(result.a.values);
    }
    CHECK(factors.front() != factors.back());
}

TEMPLATE_TEST_CASE("a panel on a GPU that is ill-conditioned, deficient or badly scaled has LAPACK's ratios", "[cuda]",
                   float, double) {
    using T = TestType;
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    for (const HardMatrix<T>& hard : hard_matrices<T>(200, 100)) {
        INFO(hard.what);
        check_qr(hard.a, factor_qr(runtime, hard.a, {128, 128}, qr_options(QrMode::gpu, 100)));
    }
}

TEMPLATE_TEST_CASE("QR on GPUs of matrices that are ill-conditioned, deficient or badly scaled has LAPACK's ratios",
                   "[cuda][medium]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_hard_matrices<TestType>(runtime, {{700, 200, {256, 256}, 200},
                                            {300, 300, {128, 128}, 64},
                                            {5000, 64, {64, 64}, 64},
                                            {40, 17, {17, 17}, 17},
                                            {129, 128, {128, 128}, 128}});
}

TEMPLATE_TEST_CASE("leaves on a GPU go by Cholesky QR, once or twice, or by Householder's method, as on the host",
                   "[cuda][medium]", float, double) {
    using T = TestType;
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const auto& [m, w] : leaf_shapes) check_leaf_ways<T>(m, w, way_on_gpu<T>);
    for (const auto& [m, w] : {std::array<Index, 2>{100, 33}, {700, 128}}) check_leaf_ways<T>(m, w, way_on_gpu<T>);
}

TEMPLATE_TEST_CASE("panels on GPUs of every condition keep residual and orthogonality", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_conditions<TestType>(runtime, 300, 100);
}

TEMPLATE_TEST_CASE("taller panels on GPUs of every condition keep residual and orthogonality", "[cuda][medium]", float,
                   double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_conditions<TestType>(runtime, 1000, 128);
}

TEMPLATE_TEST_CASE("panels of wide leaves on a GPU keep residual and orthogonality, whatever their columns",
                   "[cuda][medium]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(with_wide_leaves_from(2048));
    check_hard_matrices<TestType>(
        runtime, {{2100, 128, {128, 128}, 128}, {2048, 70, {70, 70}, 70}, {3000, 200, {200, 200}, 200}});
    check_conditions<TestType>(runtime, 2100, 128);
}

TEMPLATE_TEST_CASE("QR on GPUs has LAPACK's ratios", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_shapes<TestType>({{1, 1, {8, 8}, 4}, {97, 97, {32, 48}, 48}, {61, 130, {32, 64}, 32}});
}

TEMPLATE_TEST_CASE("QR on GPUs has LAPACK's ratios at ragged, tall and wide sizes", "[cuda][medium]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_shapes<TestType>({{97, 97, {16, 32}, 16},
                            {130, 61, {32, 24}, 8},
                            {61, 130, {32, 24}, 10},
                            {700, 700, {128, 256}, 64},
                            {1000, 1000, {256, 512}, 128},
                            {1500, 640, {128, 128}, 32},
                            {640, 1500, {128, 256}, 128},
                            {20000, 100, {512, 100}, 100}});
}

TEMPLATE_TEST_CASE("GPUs multiply by the reflectors of LAPACK", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_reflectors_of_lapack<TestType>(machine(1), {{150, 90}, {77, 77}, {1, 1}, {900, 300}});
}

TEST_CASE("QR of a matrix larger than the memory cap goes by column groups on GPUs", "[cuda][medium]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    // 1500 columns of 1536 doubles in tile columns of 128: 1.6 MB each, 19 MB in all
    const Dense<double> a = random_dense<double>(1500, 1500, 7);
    for (const int gpus : gpu_counts()) {
        for (const std::size_t memory : {44'000'000, 50'000'000}) {
            Runtime runtime(machine(gpus, memory).config());
            check_qr_on(runtime, a, {1500, 1500, {128, 128}, 64});
        }
    }
}

TEST_CASE("a NaN is reported the same by hybrid and gpu on GPUs", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_no_numbers(runtime, {120, 100, {64, 64}, 32}, 53);
}

TEST_CASE("a NaN in a larger matrix is reported the same by hybrid and gpu on GPUs", "[cuda][medium]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    check_no_numbers(runtime, {120, 100, {32, 32}, 16}, 53);
    check_no_numbers(runtime, {1200, 300, {128, 128}, 128}, 77);
}

TEST_CASE("QR on GPUs repeated gives the same bits", "[cuda][medium]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(gpu_counts().back()).config());
    const QrShape shape{1200, 1200, {128, 256}, 128};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 9);
    for (const QrOptions& options : gpu_variants(shape)) {
        const QrResult<double> first = factor_qr(runtime, a, shape.tile, options);
        for (int i = 0; i < 5; ++i) {
            const QrResult<double> again = factor_qr(runtime, a, shape.tile, options);
            CHECK(first.a.values == again.a.values);
            CHECK(first.tau == again.tau);
        }
    }
}

TEMPLATE_TEST_CASE("tall panels on a GPU keep residual and orthogonality, whatever their condition", "[cuda][large]",
                   float, double) {
    using T = TestType;
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    const Index m = 140000;  // enough for wide leaves
    for (const Index n : {70, 128}) {
        const Dense<T> random = random_dense<T>(m, n, 31);
        for (const double distance : {1.0, 0.3, 0.05, 1e-3, 1e-9, 0.0}) {
            const Watchdog watchdog;
            Dense<T> a = random;
            for (Index j = 1; j < n; ++j) {
                for (Index i = 0; i < m; ++i) a(i, j) = random(i, 0) + static_cast<T>(distance) * random(i, j);
            }
            INFO(n << " columns " << distance << " apart");
            const QrResult<T> first = factor_qr(runtime, a, {512, 128}, qr_options(QrMode::gpu, 128)),
                              again = factor_qr(runtime, a, {512, 128}, qr_options(QrMode::gpu, 128));
            check_qr(a, first);
            CHECK(first.a.values == again.a.values);
            CHECK(first.tau == again.tau);
        }
    }
}

TEST_CASE("a tall matrix is factored on a GPU", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(1).config());
    const Watchdog watchdog;
    const Dense<double> a = random_dense<double>(200000, 256, 13);
    check_qr(a, factor_qr(runtime, a, {512, 256}, qr_options(QrMode::gpu, 256)));
}
