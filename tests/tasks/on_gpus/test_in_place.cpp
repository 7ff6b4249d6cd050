// Arrays in the memory of emulated GPUs, factored in place.
#include <cstring>
#include <memory>

#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/mentions.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/on_gpus/in_place_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// The memory lies between guards that its end checks.
template <class T>
class EmulatedArray {
  public:
    EmulatedArray(Runtime& runtime, const std::vector<T>& values)
        : device_(detail::gpus_of(runtime).device(0)),
          size_(values.size()),
          memory_(static_cast<T*>(device_.allocate(size_ * sizeof(T)))) {
        std::copy(values.begin(), values.end(), memory_);
    }
    ~EmulatedArray() { device_.release(memory_); }
    EmulatedArray(const EmulatedArray&) = delete;
    EmulatedArray& operator=(const EmulatedArray&) = delete;

    T* data() const { return memory_; }
    std::vector<T> read() const { return {memory_, memory_ + size_}; }

  private:
    detail::Device& device_;
    std::size_t size_;
    T* memory_;
};

struct EmulatedArrays {
    template <class T>
    static std::unique_ptr<EmulatedArray<T>> make(Runtime& runtime, const std::vector<T>& values) {
        return std::make_unique<EmulatedArray<T>>(runtime, values);
    }
};

}  // namespace

TEMPLATE_TEST_CASE("an array on a GPU is the same after it was wrapped", "[sanitize]", float, double) {
    for (const InPlaceShape& shape : {InPlaceShape{1, 1, 1, 1},
                                      {1, 1, 5, 4},
                                      {50, 60, 50, 20},
                                      {50, 60, 53, 20},
                                      {50, 61, 50, 20},
                                      {50, 61, 70, 20},
                                      {60, 7, 61, 20},
                                      {3, 40, 300, 8},
                                      {40, 40, 41, 39},
                                      {0, 5, 3, 2},
                                      {5, 0, 5, 2}}) {
        const Watchdog watchdog;
        check_round_trip<TestType, EmulatedArrays>({.gpus = 1}, shape);
        check_round_trip<TestType, EmulatedArrays>({.gpus = 2, .delay = std::chrono::microseconds(50)}, shape);
    }
}

TEST_CASE("an array on a GPU is factored in place", "[sanitize]") {
    for (const InPlaceShape& shape : {InPlaceShape{120, 120, 120, 32},
                                      {120, 121, 120, 40},
                                      {150, 100, 157, 32},
                                      {100, 150, 103, 32},
                                      {128, 128, 130, 64},
                                      {9, 9, 12, 4}}) {
        for (const int gpus : {1, 3}) {
            const Watchdog watchdog;
            check_factors_in_place<double, EmulatedArrays>({.gpus = gpus}, shape, gpu_alone(16));
            check_factors_in_place<double, EmulatedArrays>({.gpus = gpus}, shape, hybrid(16));
        }
        check_factors_in_place<float, EmulatedArrays>({.gpus = 1}, shape, gpu_alone(32));
    }
    LuOptions cores;
    cores.mode = LuMode::cpu;
    check_factors_in_place<double, EmulatedArrays>({.gpus = 1}, {90, 90, 91, 32}, cores);
}

TEST_CASE("a matrix that is factored in place takes one tile column more, and what the factorization needs") {
    check_memory_in_place<EmulatedArrays>({.gpus = 1}, {700, 700, 700, 50}, gpu_alone(16));
    check_memory_in_place<EmulatedArrays>({.gpus = 1}, {700, 690, 703, 50}, gpu_alone(32));
}

TEST_CASE("a wrapped array is solved with before it is given back, and no more afterwards") {
    const Index n = 80;
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    const Dense<double> a = random_dense<double>(n, n, 5), b = random_dense<double>(n, 2, 6);
    const auto array = EmulatedArrays::make(runtime, a.values);
    auto matrix = Matrix<double>::wrap(runtime, array->data(), n, n, n, {}, Place::gpu(0));
    auto x = Matrix<double>::from_columns(runtime, b.values.data(), n, 2, b.ld);
    const auto lu = lu_factor(runtime, matrix, gpu_alone(16));
    lu_solve(runtime, lu, x);
    runtime.wait();
    for (Index c = 0; c < 2; ++c) {
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index j = 0; j < n; ++j) sum += a(i, j) * x.at(j, c);
            CHECK(std::abs(sum - b(i, c)) < 1e-10);
        }
    }
    const auto message = [](const auto& call) -> std::string {
        try {
            call();
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    CHECK(mentions(message([&] { matrix.column(0); }), "given back by wait()"));
    CHECK(mentions(message([&] { matrix.at(0, 0); }), "given back by wait()"));
    CHECK(mentions(message([&] { lu_solve(runtime, lu, x); }), "given back by wait()"));
    CHECK(lu.pivots().size() == static_cast<std::size_t>(n));
}

TEST_CASE("an array on a GPU is cut into as many tile columns as the tables ask for, but not into narrower ones") {
    const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) {
        gpu.lu.smallest_order = 1;
        gpu.lu.sizes = {{basalt::any_size, 8, 8, 64}};
        gpu.lu.in_place = {.tile_columns = 5, .narrowest_tile = 8};
    });
    Config config = GpuMachine{.gpus = 1}.config();
    config.tuning = tables;
    Runtime runtime(config);
    const auto width = [&](Index n) {
        const auto array = EmulatedArrays::make(runtime, std::vector<double>(static_cast<std::size_t>(n * n)));
        const auto matrix = Matrix<double>::wrap(runtime, array->data(), n, n, n, {}, Place::gpu(0));
        return matrix.tile_shape().width;
    };
    CHECK(width(320) == 64);
    CHECK(width(319) == 32);
    CHECK(width(80) == 16);
    CHECK(width(79) == 8);
    CHECK(width(20) == 8);
}

TEST_CASE("arrays on GPUs that cannot be wrapped are refused") {
    Runtime runtime(GpuMachine{.gpus = 1}.config());
    const auto array = EmulatedArrays::make(runtime, std::vector<double>(30));
    const auto wrap = [&](Index lda, Place place) {
        Matrix<double>::wrap(runtime, array->data(), 5, 6, lda, {}, place);
    };
    CHECK_THROWS_AS(wrap(4, Place::gpu(0)), UsageError);
    CHECK_THROWS_AS(wrap(5, Place::gpu(1)), UsageError);
    CHECK_THROWS_AS(wrap(5, Place::any()), UsageError);
    runtime.submit({}, [&] { CHECK_THROWS_AS(wrap(5, Place::gpu(0)), UsageError); });
    runtime.wait();
}
