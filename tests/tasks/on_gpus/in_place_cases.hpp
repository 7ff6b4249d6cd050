#pragma once

// Column-major arrays in a GPU's memory that are factored there in place, on emulated GPUs and on real ones. `Arrays`
// puts them there: Arrays::make<T>(runtime, values) is an object with data() and read().
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/tasks/matrix/device_matrix_cases.hpp"

namespace basalt_tests {

/// An array of leading dimension lda that ends with the last element of the matrix.
struct InPlaceShape {
    Index m, n, lda;
    Index tile_width;

    std::size_t elements() const { return n == 0 ? 0 : static_cast<std::size_t>((n - 1) * lda + m); }
    std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(j * lda + i); }
    std::string text() const {
        return std::to_string(m) + " x " + std::to_string(n) + ", lda " + std::to_string(lda) + ", tiles " +
               std::to_string(tile_width) + " wide";
    }
};

/// The matrix, and numbers of their own in the rows below it.
template <class T>
std::vector<T> array_of(const InPlaceShape& shape, const Dense<T>& a) {
    std::vector<T> values(shape.elements());
    for (std::size_t k = 0; k < values.size(); ++k) {
        const auto i = static_cast<Index>(k) % shape.lda, j = static_cast<Index>(k) / shape.lda;
        values[k] = i < shape.m ? a(i, j) : static_cast<T>(-1000 - static_cast<Index>(k) % 997);
    }
    return values;
}

/// Wrapped and given back, the array is what it was, whether wait() comes or the matrix goes first.
template <class T, class Arrays>
void check_round_trip(const GpuMachine& machine, const InPlaceShape& shape) {
    Runtime runtime(machine.config());
    const std::vector<T> values = array_of(shape, random_dense<T>(shape.m, shape.n, 3));
    const auto array = Arrays::template make<T>(runtime, values);
    for (const bool waits : {true, false}) {
        INFO(shape.text() << (waits ? ", by wait()" : ", by the matrix's end"));
        {
            const auto matrix = Matrix<T>::wrap(runtime, array->data(), shape.m, shape.n, shape.lda,
                                                {0, shape.tile_width}, Place::gpu(0));
            CHECK(matrix.rows() == shape.m);
            CHECK(matrix.cols() == shape.n);
            if (shape.m > 0 && shape.n > 0) {
                CHECK(matrix.at(shape.m - 1, shape.n - 1) == values.back());
                CHECK(matrix.at(shape.m / 2, 0) == values[static_cast<std::size_t>(shape.m / 2)]);
            }
            if (waits) runtime.wait();
        }
        CHECK(array->read() == values);
    }
}

/// Exact arithmetic: the array holds the factors of the cores, to the bit, and what lay below the matrix.
template <class T, class Arrays>
void check_factors_in_place(const GpuMachine& machine, const InPlaceShape& shape, const LuOptions& options) {
    const Dense<T> a = generated<T>("integer", shape.m, shape.n, 7);
    Runtime reference(GpuMachine{.gpus = 0}.config());
    LuOptions plain;
    plain.mode = LuMode::cpu;
    const Factored<T> expected = factor(reference, a, {shape.m, shape.n, {64, 64}, 16}, plain);

    Runtime runtime(machine.config());
    const auto array = Arrays::template make<T>(runtime, array_of(shape, a));
    auto matrix =
        Matrix<T>::wrap(runtime, array->data(), shape.m, shape.n, shape.lda, {0, shape.tile_width}, Place::gpu(0));
    const auto lu = lu_factor(runtime, matrix, options);
    runtime.wait();
    INFO(shape.text() << ", " << name_of(options) << ", " << machine.gpus << " GPUs");
    CHECK(lu.pivots() == expected.pivots);
    CHECK(lu.info() == expected.info);
    const bool same = array->read() == array_of(shape, expected.lu);
    CHECK(same);
}

/// One tile column and what every factorization needs are all that the matrix takes, and the host has nothing of it.
template <class Arrays>
void check_memory_in_place(GpuMachine machine, const InPlaceShape& shape, const LuOptions& options) {
    std::size_t needed = 0;
    const auto column = static_cast<std::size_t>(shape.lda * shape.tile_width) * sizeof(double);
    {
        Runtime runtime(machine.config());
        needed = lu_gpu_bytes(runtime, options, shape.m, shape.n, {shape.lda, shape.tile_width}, sizeof(double));
        needed -= column * static_cast<std::size_t>((shape.n - 1) / shape.tile_width);
    }
    needed = (needed + 511) / 512 * 512;
    machine.memory = needed;
    Runtime runtime(machine.config());
    const auto array =
        Arrays::template make<double>(runtime, array_of(shape, random_dense<double>(shape.m, shape.n, 3)));
    auto matrix =
        Matrix<double>::wrap(runtime, array->data(), shape.m, shape.n, shape.lda, {0, shape.tile_width}, Place::gpu(0));
    lu_factor(runtime, matrix, options);
    runtime.wait();
    const std::size_t most = runtime.statistics().most_gpu_bytes;
    INFO(shape.text() << ": " << most << " of " << needed << " bytes");
    CHECK(most <= needed);
    CHECK(most >= column);
    CHECK(touched_host_bytes(matrix) == 0);
    basalt::detail::gpu_memory(runtime).forget_most_in_use();
    CHECK(runtime.statistics().most_gpu_bytes <= most);
}

}  // namespace basalt_tests
