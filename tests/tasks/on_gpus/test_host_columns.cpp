// A column-major array on the host that goes to tile columns and back by GPUs: emulated ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/host_array.hpp"
#include "tests/common/mentions.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/on_gpus/host_columns_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr std::array<LuShape, 8> shapes{{{1, 1, {16, 16}, 16},
                                         {16, 16, {16, 16}, 16},
                                         {70, 33, {16, 16}, 16},
                                         {33, 70, {16, 16}, 16},
                                         {50, 7, {40, 8}, 8},
                                         {130, 200, {8, 24}, 24},
                                         {97, 101, {64, 64}, 32},
                                         {301, 97, {512, 512}, 64}}};

/// Enough for a few tile columns and no more.
std::size_t tiny_memory(const LuShape& shape, std::size_t element_size) {
    const TileGrid grid(shape.m, shape.n, shape.tile);
    return 3 * static_cast<std::size_t>(grid.tile_column_size()) * element_size + 40'000;
}

}  // namespace

TEMPLATE_TEST_CASE("an array on the host goes to the tiles and back by GPUs as by cores, padding included",
                   "[sanitize]", float, double) {
    using T = TestType;
    const Watchdog watchdog;
    for (const int gpus : {1, 2, 4}) {
        for (const bool tight : {false, true}) {
            for (const LuShape& shape : shapes) {
                const GpuMachine machine{.gpus = gpus, .memory = tight ? tiny_memory(shape, sizeof(T)) : 0};
                Runtime rt(machine.config());
                for (const bool pinned : {false, true}) {
                    check_round_trip<T>(rt, machine, shape, pinned);
                }
            }
        }
    }
}

TEST_CASE("loads and stores by GPUs follow the program order, whatever the memory", "[sanitize]") {
    const Watchdog watchdog;
    for (const std::size_t memory : {0, 60'000}) {
        Runtime rt(GpuMachine{.gpus = 2, .memory = memory, .delay = std::chrono::microseconds(200)}.config());
        Dense<double> one = random_dense<double>(100, 60, 4), two = random_dense<double>(100, 60, 5);
        Dense<double> first(100, 60), second(100, 60), third(100, 60);
        const PinnedArray<double> pinned_one(rt, one, true), pinned_second(rt, second, true);
        Matrix<double> a(rt, 100, 60, {16, 16});
        a.load(one.view(), Place::any());
        a.store(first.view(), Place::any());
        a.load(two.view(), Place::any());
        a.store(second.view(), Place::any());
        a.load(one.view());
        for (Index j = 0; j < a.tile_cols(); ++j) {
            rt.submit({.name = "negate", .place = Place::gpu(1)}, readwrite(a.column(j)),
                      gpu_kernel([](Stream, View<double> column) {
                          for (Index i = 0; i < column.rows(); ++i) {
                              for (Index c = 0; c < column.cols(); ++c) column(i, c) = -column(i, c);
                          }
                      }));
        }
        a.store(third.view(), Place::any());
        rt.wait();
        for (double& x : third.values) x = -x;
        CHECK(equal(first, one));
        CHECK(equal(second, two));
        CHECK(equal(third, one));
    }
}

TEST_CASE("hybrid LU of an array on the host gives the same bits however the array comes and goes", "[sanitize]") {
    const Watchdog watchdog;
    for (const LuShape& shape : {LuShape{211, 307, {32, 32}, 16}, {300, 180, {64, 64}, 32}, {160, 160, {32, 32}, 32}}) {
        for (const int gpus : {1, 2, 3}) {
            for (const std::size_t memory : {std::size_t{0}, std::size_t{500'000}}) {
                for (const bool pinned : {false, true}) {
                    check_lu_of_array({.gpus = gpus, .memory = memory}, shape, pinned);
                }
            }
        }
    }
}

TEST_CASE("pinned arrays go straight to the GPUs and nothing else does") {
    Runtime rt(GpuMachine{.gpus = 1}.config());
    Dense<double> a = random_dense<double>(200, 96, 6, 3), back(200, 96);
    const PinnedArray<double> pinned_a(rt, a, true), pinned_back(rt, back, true);
    Matrix<double> tiles(rt, 200, 96, {32, 32});
    tiles.load(a.view(), Place::any());
    rt.wait();
    constexpr std::uint64_t bytes = 200 * 96 * sizeof(double);
    CHECK(statistics(rt, 0).bytes_copied == bytes);
    CHECK(statistics(rt, 0).copies_to_host == 0);
    tiles.store(back.view(), Place::any());
    rt.wait();
    CHECK(statistics(rt, 0).bytes_copied == 2 * bytes);
    CHECK(equal(a, back));
}

TEMPLATE_TEST_CASE("a triangle of an array on the host goes to the tiles and back by GPUs, and nothing else",
                   "[sanitize]", float, double) {
    const Watchdog watchdog;
    for (const int gpus : {1, 3}) {
        const GpuMachine machine{.gpus = gpus};
        Runtime rt(machine.config());
        for (const LuShape& shape : shapes) {
            for (const bool pinned : {false, true}) check_triangle<TestType>(rt, machine, shape, pinned);
        }
    }
    const LuShape large{1300, 1300, {64, 640}, 64};  // several stripes and squares in a tile column
    const GpuMachine machine{.gpus = 2};
    Runtime rt(machine.config());
    check_triangle<TestType>(rt, machine, large, true);
}

TEST_CASE("of a pinned triangle about half of the array travels, from its columns or its rows") {
    constexpr Index n = 2000;
    constexpr double all = static_cast<double>(n * n) * sizeof(double);
    for (const bool by_columns : {true, false}) {
        Runtime rt(GpuMachine{.gpus = 1}.config());
        Dense<double> a = random_dense<double>(n, n, 6, 3);
        const PinnedArray<double> pinned_a(rt, a, true);
        const View<double> view = by_columns ? a.view() : View<double>::row_major(a.values.data(), n, n, a.ld);
        const auto bytes = [&] { return static_cast<double>(statistics(rt, 0).bytes_copied); };
        Matrix<double> tiles(rt, n, n, {512, 1000});
        tiles.load_triangle(Triangle::lower, view, Place::any());
        rt.wait();
        const double loaded = bytes();
        CHECK(loaded > 0.5 * all);
        CHECK(loaded < 0.7 * all);
        tiles.store_triangle(Triangle::lower, view, Place::any());
        rt.wait();
        CHECK(bytes() - loaded > 0.5 * all);
        CHECK(bytes() - loaded < 0.7 * all);
    }
}

TEST_CASE("cores convert triangles that are on the host or do not fit on the GPUs") {
    constexpr Index n = 300;
    Dense<double> a = random_dense<double>(n, n, 6, 3), back(n, n);
    for (const std::size_t memory : {std::size_t{0}, std::size_t{200'000}}) {
        Runtime rt(GpuMachine{.gpus = 1, .memory = memory}.config());
        Matrix<double> tiles(rt, n, n, {64, 64});
        tiles.load_triangle(Triangle::upper, a.view(), memory == 0 ? Place::cpu() : Place::any());
        tiles.store_triangle(Triangle::upper, back.view(), Place::any());
        rt.wait();
        CHECK(statistics(rt, 0).bytes_copied == 0);
        for (Index j = 0; j < n; ++j) CHECK(std::equal(&back(0, j), &back(0, j) + j + 1, &a(0, j)));
        std::fill(back.values.begin(), back.values.end(), 7.0);
        tiles.store_triangle(Triangle::upper, back.view(), Place::any(), OtherSide::zeros);
        rt.wait();
        for (Index j = 0; j < n; ++j) {
            CHECK(std::equal(&back(0, j), &back(0, j) + j + 1, &a(0, j)));
            CHECK(std::all_of(&back(0, j) + j + 1, &back(0, j) + n, [](double x) { return x == 0; }));
        }
    }
}

TEST_CASE("the buffers of a store keep their places where memory is full") {
    const bool pinned = GENERATE(false, true);
    const Watchdog watchdog;
    Runtime rt(GpuMachine{.gpus = 1, .memory = std::size_t{64} << 10}.config());
    // tile columns of 512 bytes, of which memory takes 128, and each is a block of its own
    Dense<double> a = random_dense<double>(8, 1200, 14), back(8, 1200);
    const PinnedArray<double> pinned_back(rt, back, pinned);
    Matrix<double> tiles(rt, 8, 1200, {8, 8});
    tiles.load(a.view(), Place::cpu());
    tiles.store(back.view(), Place::any());
    // a buffer that replaced another one would have to wait until that one's contents have left
    for (int i = 0; i < 4; ++i) {
        const detail::Datum* const buffer = tiles.share_storage()->stripes().next<double>(0, 8, 8).datum;
        CHECK(detail::gpu_data(rt).has_memory_on(*buffer, 0));
    }
    rt.wait();
    CHECK(equal(a, back));
}

TEST_CASE("tile columns that come from an array lie at constant stride on their GPU") {
    constexpr int gpus = 2;
    Runtime rt(GpuMachine{.gpus = gpus}.config());
    Dense<double> a = random_dense<double>(128, 300, 13);
    Matrix<double> tiles(rt, 128, 300, {32, 32});
    tiles.load(a.view(), Place::any());
    for (int gpu = 0; gpu < gpus; ++gpu) {
        AccessList list;
        for (Index j = gpu; j < tiles.tile_cols(); j += gpus) list.read(tiles.column(j));
        rt.submit({.name = "look", .place = Place::gpu(gpu)}, list, gpu_kernel([](Stream, const Addresses& at) {
                      for (std::size_t c = 1; c < at.size(); ++c) {
                          const auto distance = static_cast<double*>(at[c]) - static_cast<double*>(at[c - 1]);
                          if (distance != 128 * 32) throw UsageError("apart by " + std::to_string(distance));
                      }
                  }));
    }
    CHECK_NOTHROW(rt.wait());
}

TEST_CASE("without GPUs, for row-major arrays and for empty matrices the cores convert") {
    Config cores;
    cores.workers = 2;
    cores.gpus = 0;
    for (const Config& config : {cores, GpuMachine{.gpus = 2}.config()}) {
        Runtime rt(config);
        Dense<double> a = random_dense<double>(60, 60, 8), back(60, 60);
        Matrix<double> tiles(rt, 60, 60, {16, 16}), nothing(rt, 0, 5), neither(rt, 5, 0);
        tiles.load(View<const double>::row_major(a.values.data(), 60, 60, 60), Place::any());
        tiles.store(View<double>::row_major(back.values.data(), 60, 60, 60), Place::any());
        nothing.load(View<const double>::column_major(nullptr, 0, 5, 1), Place::any());
        neither.store(View<double>::column_major(nullptr, 5, 0, 5), Place::any());
        rt.wait();
        CHECK(equal(a, back));
        tiles.load(a.view(), rt.gpus() > 0 ? Place::cpu() : Place::any());
        tiles.store(back.view(), rt.gpus() > 0 ? Place::cpu() : Place::any());
        rt.wait();
        CHECK(equal(a, back));
    }
}

TEST_CASE("solve() of a large system converts on the GPU that factors") {
    constexpr Index n = 2048;
    Config cores;
    cores.workers = 2;
    cores.gpus = 0;
    Dense<float> first(n, n);
    std::vector<float> solution;
    for (const Config& config : {cores, GpuMachine{.gpus = 1}.config()}) {
        Runtime rt(config);
        Dense<float> a = generated<float>("spd", n, n, 3);
        std::vector<float> b(static_cast<std::size_t>(n), 1);
        CHECK(solve<float>(rt, n, 1, a.values.data(), n, nullptr, b.data(), n) == 0);
        if (rt.gpus() == 0) {
            first = a;
            solution = b;
            continue;
        }
        CHECK(largest_difference(a, first) < 1e-3);
        for (std::size_t i = 0; i < b.size(); ++i) REQUIRE(std::abs(b[i] - solution[i]) < 1e-3);
        CHECK(statistics(rt, 0).bytes_copied >= 2 * n * n * sizeof(float));
    }
}

TEST_CASE("an array that is not like the matrix and a task that has no GPU are refused") {
    Runtime rt(GpuMachine{.gpus = 1}.config());
    Dense<double> a = random_dense<double>(20, 20, 9);
    Matrix<double> tiles(rt, 20, 20, {16, 16});
    const View<double> strided(a.values.data(), 20, 20, 2, 40);
    CHECK(mentions(error_of<UsageError>([&] { tiles.load(strided, Place::gpu(0)); }),
                   "Matrix::load: the array in a GPU's memory has row stride 2 and column stride 40; allowed is"));
    CHECK_THROWS_AS(tiles.store(strided, Place::gpu(0)), UsageError);
    Dense<double> larger(21, 20);
    CHECK_THROWS_AS(tiles.load(larger.view(), Place::any()), UsageError);
    rt.submit({.name = "inside", .place = Place::cpu()}, [&] { tiles.store(a.view(), Place::any()); });
    CHECK_THROWS_AS(rt.wait(), TaskError);
}

TEMPLATE_TEST_CASE("arrays in a GPU's memory are loaded, factored and stored by rows and by columns", "[sanitize]",
                   float, double) {
    const Watchdog watchdog;
    for (const int gpus : {1, 2}) {
        for (const bool small_parts : {false, true}) {
            Config config = GpuMachine{.gpus = gpus}.config();
            if (small_parts) config.tuning = tables_of_small_parts();
            Runtime rt(config);
            for (const LuShape& shape : {LuShape{1, 40, {16, 16}, 8},
                                         {40, 1, {16, 16}, 8},
                                         {33, 50, {16, 16}, 16},
                                         {64, 32, {16, 16}, 16},
                                         {150, 150, {192, 192}, 32},
                                         {210, 240, {64, 200}, 32},
                                         {210, 300, {64, 200}, 32}}) {
                check_arrays_on_gpu<TestType>(rt, shape,
                                              [](const std::vector<TestType>& v) { return HostArray<TestType>(v); });
            }
        }
    }
}

TEST_CASE("several threads may store at once", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(GpuMachine{.gpus = 2, .memory = 100'000}.config());
    const Dense<double> a = random_dense<double>(150, 90, 10);
    Matrix<double> tiles(rt, 150, 90, {16, 16});
    tiles.load(View<const double>::column_major(a.values.data(), 150, 90, 150), Place::any());
    std::vector<Dense<double>> copies(3, Dense<double>(150, 90));
    std::vector<std::thread> threads;
    for (Dense<double>& copy : copies) threads.emplace_back([&] { tiles.store(copy.view(), Place::any()); });
    for (std::thread& thread : threads) thread.join();
    rt.wait();
    for (const Dense<double>& copy : copies) CHECK(equal(copy, a));
}

TEST_CASE("a matrix may be destroyed while its array is on the way", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(GpuMachine{.gpus = 2, .delay = std::chrono::microseconds(300)}.config());
    Dense<double> a = random_dense<double>(90, 90, 11), copy(90, 90);
    for (const bool pinned : {false, true}) {
        const PinnedArray<double> memory(rt, a, pinned);
        Matrix<double> tiles(rt, 90, 90, {16, 16});
        tiles.load(a.view(), Place::any());
        tiles.store(copy.view(), Place::any());
        tiles = Matrix<double>();
        rt.wait();
        CHECK(equal(a, copy));
    }
}

TEST_CASE("a copy that fails is reported once and leaves the runtime usable") {
    for (const bool pinned : {false, true}) {
        for (const std::uint64_t failing : {1, 2, 7, 8}) {
            const Watchdog watchdog;
            Config config = GpuMachine{.gpus = 2}.config();
            config.emulation.failing_copy = failing;
            config.emulation.failing_gpu = 1;
            Runtime rt(config);
            INFO("copy " << failing << (pinned ? ", pinned" : ""));
            Dense<double> a = random_dense<double>(120, 120, 12), back(120, 120);
            const PinnedArray<double> pinned_a(rt, a, pinned), pinned_back(rt, back, pinned);
            Matrix<double> tiles(rt, 120, 120, {16, 16});
            tiles.load(a.view(), Place::any());
            tiles.store(back.view(), Place::any());
            CHECK_THROWS_AS(rt.wait(), TaskError);
            rt.wait();
            tiles.load(a.view(), Place::any());
            tiles.store(back.view(), Place::any());
            rt.wait();
            CHECK(equal(a, back));
        }
    }
}
