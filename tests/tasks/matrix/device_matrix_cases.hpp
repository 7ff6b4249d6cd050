#pragma once

// Matrices that live on GPUs from beginning to end, on emulated GPUs and on real ones.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "basalt/basalt.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"

namespace basalt_tests {

using basalt::Array;
using basalt::MatrixPart;
using basalt::Place;

/// Bytes of the matrix's memory on the host that anybody has touched. It must be large enough to be mapped by itself.
template <class T>
std::size_t touched_host_bytes(const Matrix<T>& matrix) {
    const auto& storage = *matrix.share_storage();
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes =
        static_cast<std::size_t>(storage.grid().tile_column_size() * storage.grid().tile_cols()) * sizeof(T);
    std::vector<unsigned char> present((bytes + page - 1) / page);
    REQUIRE(mincore(storage.column(0), bytes, present.data()) == 0);
    return page * static_cast<std::size_t>(
                      std::count_if(present.begin(), present.end(), [](unsigned char c) { return (c & 1U) != 0; }));
}

/// Generated, factored, solved and checked on GPUs, and not a page of the host's memory for it.
inline void check_system_on_gpus(const GpuMachine& machine, Index n, Index right_sides, TileShape tile,
                                 const LuOptions& options) {
    Runtime runtime(machine.config());
    const std::shared_ptr<const basalt::Generator<double>> generator =
        basalt::make_generator<double>("hpl", n, n + right_sides);
    auto system = Matrix<double>::generate(runtime, generator, n, n + right_sides, tile, Place::any());
    LuOptions unordered = options;
    unordered.left_interchanges = false;
    const auto lu = lu_factor(runtime, system, unordered);
    Matrix<double> solution = lu_solve_augmented(runtime, lu);
    runtime.wait();
    CHECK(lu.info() == 0);

    system.fill(generator, Place::any());
    Dense<double> b = generated<double>("hpl", n, n + right_sides);
    for (Index c = 0; c < right_sides; ++c) {
        std::vector<double> x(static_cast<std::size_t>(n)), residual(x), sums(x), ones(x);
        for (Index i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            x[at] = solution.at(i, c);
            residual[at] = b(i, n + c);
            ones[at] = 1;
        }
        const auto wrap = [&](std::vector<double>& v) { return Array<double>::wrap(runtime, v.data(), n); };
        subtract_product(runtime, system, MatrixPart::all, wrap(x), wrap(residual));
        subtract_product(runtime, system, MatrixPart::magnitudes, wrap(ones), wrap(sums));
        double error = 0, norm = 0, largest = 0;
        for (Index i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            error = std::max(error, std::abs(residual[at]));
            norm = std::max(norm, std::abs(sums[at]));
            largest = std::max(largest, std::abs(x[at]));
        }
        INFO("n = " << n << ", " << machine.gpus << " GPUs, " << name_of(options) << ", right-hand side " << c);
        CHECK(norm > static_cast<double>(n) / 8);
        CHECK(error <= 16 * 0x1p-53 * norm * largest * static_cast<double>(n));
    }
    CHECK(touched_host_bytes(system) == 0);
}

/// y -= A x by GPUs and by cores against plain loops.
template <class T>
void check_products(const GpuMachine& machine, Index m, Index n, TileShape tile) {
    using enum MatrixPart;
    Runtime runtime(machine.config());
    const Dense<T> a = random_dense<T>(m, n, 3);
    auto matrix = Matrix<T>::from_columns(runtime, a.values.data(), m, n, a.ld, tile);
    for (const Index used : {n, n / 2}) {
        for (const MatrixPart part : {all, upper, strictly_lower, magnitudes}) {
            std::vector<double> x(static_cast<std::size_t>(used)), y(static_cast<std::size_t>(m), 1), expected(y);
            for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::sin(static_cast<double>(j));
            for (Index i = 0; i < m; ++i) {
                for (Index j = 0; j < used; ++j) {
                    if ((part == upper && j < i) || (part == strictly_lower && j >= i)) continue;
                    const auto element = static_cast<double>(a(i, j));
                    expected[static_cast<std::size_t>(i)] -=
                        (part == magnitudes ? std::abs(element) : element) * x[static_cast<std::size_t>(j)];
                }
            }
            subtract_product(runtime, matrix, part, Array<double>::wrap(runtime, x.data(), used),
                             Array<double>::wrap(runtime, y.data(), m));
            double error = 0;
            for (std::size_t i = 0; i < y.size(); ++i) error = std::max(error, std::abs(y[i] - expected[i]));
            INFO(m << " x " << used << " of " << n << ", part " << static_cast<int>(part) << ", " << machine.gpus
                   << " GPUs");
            CHECK(error <= 1e-15 * static_cast<double>(n + 8));
        }
    }
}

}  // namespace basalt_tests
