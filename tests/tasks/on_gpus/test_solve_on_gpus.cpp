#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/on_gpus/solve_on_gpus_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Config emulated(int gpus) {
    Config config;
    config.workers = 2;
    config.emulation.gpus = gpus;
    return config;
}

}  // namespace

TEMPLATE_TEST_CASE("factors on GPUs are solved with where they are", "[solve][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const int gpus : {1, 3}) {
        Runtime runtime(emulated(gpus));
        for (const FactorMode mode : {FactorMode::gpu, FactorMode::hybrid}) {
            for (const SolveShape& shape : {SolveShape{1, 1, {8, 8}, {8, 8}},
                                            {33, 1, {32, 32}, {32, 1}},
                                            {100, 3, {48, 32}, {32, 2}},
                                            {160, 70, {32, 32}, {64, 32}}}) {
                check_solves_on_gpus<TestType>(runtime, mode, shape);
                check_reflections_on_gpus<TestType>(runtime, mode, shape);
            }
        }
    }
}

TEST_CASE("right-hand sides that are on a GPU are solved for", "[solve]") {
    const Watchdog watchdog;
    Runtime runtime(emulated(2));
    const Index n = 120;
    const Dense<double> a = random_dense<double>(n, n, 75), b = random_dense<double>(n, 3, 76);
    Matrix<double> tiles = to_tiles(runtime, a, {32, 32}), x(runtime, n, 3, {32, 3});
    x.load(View<const double>::column_major(b.values.data(), n, 3, b.ld), Place::any());
    lu_solve(runtime, lu_factor(runtime, tiles, {.mode = LuMode::gpu}), x);
    CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
}

TEST_CASE("factors that were brought home are solved with there", "[solve]") {
    const Watchdog watchdog;
    Runtime runtime(emulated(2));
    const Dense<double> a = random_dense<double>(100, 100, 77), b = random_dense<double>(100, 2, 78);
    Matrix<double> tiles = to_tiles(runtime, a, {32, 32});
    const LuFactors<double> lu = lu_factor(runtime, tiles, {.mode = LuMode::gpu});
    for (Index j = 0; j < tiles.tile_cols(); ++j) {
        runtime.submit({.name = "look", .place = Place::cpu()}, read(tiles.column(j)), [](View<const double>) {});
    }
    Matrix<double> x = to_tiles(runtime, b, {32, 2});
    CHECK(is_at_home(tiles));
    lu_solve(runtime, lu, x);
    CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
}

TEST_CASE("larger than the GPUs' memory, factors are solved with all the same", "[solve]") {
    const Watchdog watchdog;
    Config config = emulated(2);
    config.gpu_memory = 96 * 1024;
    Runtime runtime(config);
    const Dense<double> a = random_dense<double>(200, 200, 79), b = random_dense<double>(200, 5, 80);
    Matrix<double> tiles = to_tiles(runtime, a, {32, 32});
    const LuFactors<double> lu = lu_factor(runtime, tiles, {.mode = LuMode::gpu, .panel_width = 16});
    Matrix<double> x = to_tiles(runtime, b, {32, 5});
    lu_solve(runtime, lu, x);
    CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
}

TEST_CASE("where the factors fit a GPU and the right-hand sides do not, cores solve or some columns go home",
          "[solve]") {
    const Watchdog watchdog;
    const Index n = 256;
    const Dense<double> a = symmetric(Triangle::lower, spd_dense<double>(Triangle::lower, n, 83));
    const Dense<double> b = random_dense<double>(n, n, 84);
    for (const Index width : {Index{32}, n}) {
        for (std::size_t kilobytes = 780; kilobytes <= 1800; kilobytes += 85) {
            INFO("tiles " << width << " wide, " << kilobytes << " KiB");
            Config config = emulated(1);
            config.gpu_memory = kilobytes * 1024;
            const bool ample = kilobytes > 1700 && width < n;
            const auto check = [&](const auto& solve) {
                Runtime runtime(config);
                Matrix<double> tiles = to_tiles(runtime, a, {32, width}), x = to_tiles(runtime, b, {32, n});
                solve(runtime, tiles, x);
                CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
                if (ample) CHECK_FALSE(is_at_home(tiles));
            };
            check([](Runtime& runtime, Matrix<double>& tiles, Matrix<double>& x) {
                lu_solve(runtime, lu_factor(runtime, tiles, {.mode = LuMode::gpu, .panel_width = 16}), x);
            });
            check([](Runtime& runtime, Matrix<double>& tiles, Matrix<double>& x) {
                const CholeskyOptions options{.mode = FactorMode::gpu, .panel_width = 16};
                cholesky_solve(runtime, cholesky_factor(runtime, tiles, Triangle::lower, options), x);
            });
            check([](Runtime& runtime, Matrix<double>& tiles, Matrix<double>& x) {
                qr_solve(runtime, qr_factor(runtime, tiles, {.mode = FactorMode::gpu, .panel_width = 16}), x);
            });
        }
    }
}

TEST_CASE("factors that another matrix drove from a GPU are solved with all the same", "[solve]") {
    const Watchdog watchdog;
    const Index n = 256;
    const Dense<double> a = random_dense<double>(n, n + 1, 85);
    Dense<double> square(n, n), b(n, 1);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) square(i, j) = a(i, j);
        b(i, 0) = a(i, n);
    }
    for (const std::size_t kilobytes : {1000, 1200, 1500}) {
        INFO(kilobytes << " KiB");
        Config config = emulated(1);
        config.gpu_memory = kilobytes * 1024;
        Runtime runtime(config);
        Matrix<double> tiles = to_tiles(runtime, a, {32, 32}), other = to_tiles(runtime, a, {32, 32});
        const LuFactors<double> lu = lu_factor(runtime, tiles, {.mode = LuMode::gpu, .panel_width = 16});
        const LuFactors<double> of_other = lu_factor(runtime, other, {.mode = LuMode::gpu, .panel_width = 16});
        CHECK(solve_ratio(square, from_tiles(runtime, lu_solve_augmented(runtime, lu)), b) < 30);
        CHECK(solve_ratio(square, from_tiles(runtime, lu_solve_augmented(runtime, of_other)), b) < 30);
    }
}

TEST_CASE("what a GPU once had of a matrix is not taken for the factors", "[solve]") {
    const Watchdog watchdog;
    Runtime runtime(emulated(2));
    const Index n = 128;
    const Dense<double> a = random_dense<double>(n, n, 86), b = random_dense<double>(n, 1, 87);
    Matrix<double> tiles(runtime, n, n, {32, 32});
    tiles.load(View<const double>::column_major(a.values.data(), n, n, a.ld), Place::gpu(0));
    const LuFactors<double> lu = lu_factor(runtime, tiles, {.mode = LuMode::gpu});
    Matrix<double> x = to_tiles(runtime, b, {32, 1});
    lu_solve(runtime, lu, x);
    CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
    CHECK_FALSE(is_at_home(tiles));
    for (Index j = 1; j < tiles.tile_cols(); j += 2) {
        CHECK_FALSE(detail::gpu_data(runtime).valid_on(*tiles.share_storage()->datum(j), 0));  // it was not sent there
    }
}

TEST_CASE("two threads apply one Q that is on GPUs, to matrices of any width", "[solve][sanitize]") {
    const Watchdog watchdog;
    Runtime runtime(emulated(2));
    const Index n = 96;
    const Dense<double> a = random_dense<double>(n, n, 88), c = random_dense<double>(n, 150, 89);
    Matrix<double> tiles = to_tiles(runtime, a, {32, 32});
    const QrFactors<double> qr = qr_factor(runtime, tiles, {.mode = FactorMode::gpu});
    std::atomic<int> wrong{0};
    const auto apply = [&](Index width) {
        for (int i = 0; i < 4; ++i) {
            Matrix<double> x = to_tiles(runtime, c, {32, width + 8 * i});
            qr_apply(runtime, qr, QrSide::left, QrOp::transposed, x);
            qr_apply(runtime, qr, QrSide::left, QrOp::plain, x);
            const Dense<double> back = from_tiles(runtime, x);
            for (Index j = 0; j < c.n; ++j) {
                for (Index k = 0; k < n; ++k) wrong += std::abs(back(k, j) - c(k, j)) > 1e-12;
            }
        }
    };
    std::thread other(apply, 150);
    apply(20);
    other.join();
    CHECK(wrong == 0);
    CHECK_FALSE(is_at_home(tiles));
}

TEST_CASE("solve() inside a task runs on cores, also where there are GPUs", "[solve]") {
    const Watchdog watchdog;
    Config config = emulated(1);
    TuningTables tables = TuningTables::built_in();
    for (GpuTuning& gpu : tables.gpus) gpu.lu.smallest_order = gpu.cholesky.smallest_order = 0;
    config.tuning = std::make_shared<const TuningTables>(std::move(tables));
    Runtime runtime(config);
    const Index n = 100;
    const Dense<double> a = symmetric(Triangle::lower, spd_dense<double>(Triangle::lower, n, 81));
    const Dense<double> b = random_dense<double>(n, 2, 82);
    Dense<double> by_lu = b, by_cholesky = b;
    runtime.submit({.name = "outer"}, [&] {
        Dense<double> lu = a, cholesky = a;
        CHECK(solve<double>(runtime, n, 2, lu.values.data(), lu.ld, by_lu.values.data(), by_lu.ld) == 0);
        CHECK(cholesky_solve<double>(runtime, Triangle::lower, n, 2, cholesky.values.data(), cholesky.ld,
                                     by_cholesky.values.data(), by_cholesky.ld) == 0);
    });
    runtime.wait();
    CHECK(solve_ratio(a, by_lu, b) < 30);
    CHECK(solve_ratio(a, by_cholesky, b) < 30);
}
