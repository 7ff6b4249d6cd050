// Matrices that live on GPUs, emulated here: systems larger than the host's memory could be.
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/mentions.hpp"
#include "tests/tasks/matrix/device_matrix_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("a system on GPUs is generated, factored, solved and checked without memory of the host's") {
    for (const int gpus : {1, 2, 4}) {
        const Watchdog watchdog;
        check_system_on_gpus({.gpus = gpus}, 700, 1, {64, 96}, gpu_alone(32));
    }
    check_system_on_gpus({.gpus = 3}, 640, 1, {128, 64}, gpu_alone(64, 0));
    check_system_on_gpus({.gpus = 2}, 650, 70, {64, 64}, gpu_alone(64));
    check_system_on_gpus({.gpus = 2}, 640, 1, {128, 64}, hybrid(64));
}

TEST_CASE("a system is solved on GPUs at the smallest orders") {
    for (const Index n : {1, 2, 5, 33}) {
        Runtime runtime(GpuMachine{.gpus = 2}.config());
        const Dense<double> both = random_dense<double>(n, n + 2, 5);
        auto matrix = Matrix<double>::from_columns(runtime, both.values.data(), n, n + 2, both.ld, {8, 8});
        const auto x = lu_solve_augmented(runtime, lu_factor(runtime, matrix, gpu_alone(4)));
        runtime.wait();
        for (Index c = 0; c < 2; ++c) {
            for (Index i = 0; i < n; ++i) {
                double sum = 0;
                for (Index j = 0; j < n; ++j) sum += both(i, j) * x.at(j, c);
                CHECK(std::abs(sum - both(i, n + c)) < 1e-11);
            }
        }
    }
}

TEMPLATE_TEST_CASE("products with vectors by GPUs and by cores are those of plain loops", "[sanitize]", float, double) {
    for (const int gpus : {0, 1, 3}) {
        check_products<TestType>({.gpus = gpus}, 90, 130, {32, 24});
        check_products<TestType>({.gpus = gpus}, 130, 70, {16, 32});
        check_products<TestType>({.gpus = gpus}, 1, 1, {8, 8});
    }
}

TEST_CASE("products refuse vectors that do not fit") {
    Runtime runtime(GpuMachine{.gpus = 1}.config()), other(GpuMachine{.gpus = 0}.config());
    const Matrix<double> a(runtime, 4, 3);
    const Array<double> three(runtime, 3), four(runtime, 4), foreign(other, 3);
    const auto refusal = [&](const Array<double>& x, const Array<double>& y) -> std::string {
        try {
            subtract_product(runtime, a, MatrixPart::all, x, y);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    CHECK(mentions(refusal(four, four), "x has 4"));
    CHECK(mentions(refusal(three, three), "4 x 3"));
    CHECK_THROWS_AS(subtract_product(other, a, MatrixPart::all, foreign, foreign), UsageError);
}

TEST_CASE("the bytes that LU takes of a GPU are those that it finds there") {
    const LuOptions options = gpu_alone(32);
    const Index n = 600;
    const TileShape tile{50, 40};
    Runtime measured(GpuMachine{.gpus = 2}.config());
    const std::size_t needed = lu_gpu_bytes(measured, options, n, n, tile, sizeof(double));
    for (const bool enough : {true, false}) {
        Runtime runtime(GpuMachine{.gpus = 2, .memory = enough ? needed : needed / 2}.config());
        const std::shared_ptr<const Generator<double>> generator = make_generator<double>("random", n, n);
        auto matrix = Matrix<double>::generate(runtime, generator, n, n, tile, Place::any());
        lu_factor(runtime, matrix, options);
        runtime.wait();
        CHECK((touched_host_bytes(matrix) == 0) == enough);
    }
    LuOptions on_cores;
    on_cores.mode = LuMode::cpu;
    CHECK(lu_gpu_bytes(measured, on_cores, n, n, tile, sizeof(double)) == 0);
}

TEST_CASE("panels that GPUs do not find aligned have buffers of their own") {
    const Index n = 320;
    const Runtime runtime(GpuMachine{.gpus = 1}.config());
    const auto bytes = [&](Index panel_width, std::size_t element_size) {
        return lu_gpu_bytes(runtime, gpu_alone(panel_width), n, n, {n, n}, element_size);
    };
    CHECK(bytes(62, sizeof(double)) < bytes(64, sizeof(double)));
    CHECK(bytes(63, sizeof(double)) > bytes(64, sizeof(double)) + 2 * 63 * n * sizeof(double));
    CHECK(bytes(60, sizeof(float)) < bytes(64, sizeof(float)));
    CHECK(bytes(62, sizeof(float)) > bytes(64, sizeof(float)) + 2 * 62 * n * sizeof(float));
}

TEST_CASE("a lookahead beyond the last panel takes no more of a GPU's memory") {
    const Index n = 100, nb = 20;
    const Runtime runtime(GpuMachine{.gpus = 1}.config());
    const auto bytes = [&](int lookahead) {
        return lu_gpu_bytes(runtime, hybrid(nb, lookahead), n, n, {20, 20}, sizeof(double));
    };
    CHECK(bytes(1) < bytes(3));
    CHECK(bytes(3) == bytes(1 << 30));
}

TEST_CASE("a GPU that fails to set memory aside for a matrix is named, with what that was and the call") {
    Config config = GpuMachine{.gpus = 2}.config();
    config.emulation.failing_allocation = 1;
    config.emulation.failing_gpu = 1;
    config.emulation.failures_are_sticky = true;
    Runtime runtime(config);
    auto a = Matrix<double>::generate(runtime, make_generator<double>("random", 256, 256), 256, 256, {64, 64});
    std::string why;
    try {
        lu_factor(runtime, a, hybrid(64));
    } catch (const DeviceError& error) {
        why = error.what();
    }
    CHECK(mentions(why, "room for 2 data of 131072 bytes side by side: gpu 1: allocate (emulated_device.cpp:"));
}

TEST_CASE("tile columns are dealt as the matrix says, and not otherwise once they are on GPUs") {
    const auto owners = [](const Matrix<double>& matrix) {
        std::vector<int> numbers;
        for (Index j = 0; j < matrix.tile_cols(); ++j) numbers.push_back(matrix.dealt_to(j).gpu_number());
        return numbers;
    };
    Runtime runtime(GpuMachine{.gpus = 3}.config());
    Matrix<double> a(runtime, 20, 56, {8, 8});
    CHECK(owners(a) == std::vector<int>{0, 1, 2, 1, 2, 0, 2});
    a.set_deal(Deal::cyclic);
    CHECK(owners(a) == std::vector<int>{0, 1, 2, 0, 1, 2, 0});
    a.fill(make_generator<double>("random", 20, 56), Place::any());
    runtime.wait();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        CHECK(detail::gpu_data(runtime).has_memory_on(*a.share_storage()->datum(j), static_cast<int>(j % 3)));
    }
    CHECK_THROWS_AS(a.set_deal(Deal::balanced), UsageError);
    CHECK_THROWS_AS(a.dealt_to(7), UsageError);
    CHECK_THROWS_AS(a.dealt_to(-1), UsageError);

    Runtime cores({.workers = 1});
    CHECK(Matrix<double>(cores, 9, 9, {8, 8}).dealt_to(1).is_cpu());
}

TEST_CASE("arrays are solved with tiles that the GPUs' memory takes, where the usual ones are too wide") {
    const Watchdog watchdog;
    const Index n = 2100;  // large enough for GPUs to be chosen; the usual tile of Cholesky is all of the matrix
    Runtime runtime(GpuMachine{.gpus = 1, .memory = std::size_t{8} << 20}.config());
    CHECK(fitting_tile(runtime, {512, 4096}, n, n, sizeof(double)) == TileShape{64, 64});
    CHECK(fitting_tile(runtime, {32, 32}, n, n, sizeof(double)) == TileShape{32, 32});
    // a diagonal and a constant: A x = b has the solution 1
    const double diagonal = static_cast<double>(n);
    std::vector<double> a(static_cast<std::size_t>(n * n), 1), b(static_cast<std::size_t>(n), 2 * diagonal);
    for (Index i = 0; i < n; ++i) a[static_cast<std::size_t>(i * (n + 1))] += diagonal;
    std::vector<double> factors = a, x = b;
    CHECK(cholesky_solve(runtime, Triangle::lower, n, Index{1}, factors.data(), n, x.data(), n) == 0);
    CHECK(std::all_of(x.begin(), x.end(), [](double value) { return std::abs(value - 1) < 1e-12; }));
    factors = a, x = b;
    CHECK(solve(runtime, n, Index{1}, factors.data(), n, static_cast<Index*>(nullptr), x.data(), n) == 0);
    CHECK(std::all_of(x.begin(), x.end(), [](double value) { return std::abs(value - 1) < 1e-12; }));
}
