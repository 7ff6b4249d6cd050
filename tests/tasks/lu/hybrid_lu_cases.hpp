#pragma once

// What the tests of LU in the modes hybrid and gpu share, on emulated GPUs and on real ones.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "basalt/basalt.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"
#include "tests/common/shown.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"

namespace basalt_tests {

using basalt::Config;
using basalt::Index;
using basalt::LuMode;
using basalt::LuOptions;
using basalt::Matrix;
using basalt::Runtime;
using basalt::TileShape;

struct LuShape {
    Index m;
    Index n;
    TileShape tile;
    Index panel_width;
};

template <class T>
Factored<T> factor(Runtime& runtime, const Dense<T>& a, const LuShape& shape, const LuOptions& options) {
    auto matrix = Matrix<T>::from_columns(runtime, a.values.data(), shape.m, shape.n, a.ld, shape.tile);
    const auto lu = lu_factor(runtime, matrix, options);
    Factored<T> result{a, {}, 0};
    matrix.store(result.lu.view());
    runtime.wait();
    result.pivots = lu.pivots();
    result.info = lu.info();
    return result;
}

inline LuOptions hybrid(Index panel_width, std::optional<int> lookahead = {}) {
    LuOptions options;
    options.mode = LuMode::hybrid;
    options.panel_width = panel_width;
    options.lookahead = lookahead;
    options.gpu_panels_below = 0;
    return options;
}

/// The same in mode gpu.
inline LuOptions gpu_alone(Index panel_width, std::optional<int> lookahead = {}) {
    LuOptions options = hybrid(panel_width, lookahead);
    options.mode = LuMode::gpu;
    return options;
}

inline const char* name_of(const LuOptions& options) { return options.mode == LuMode::gpu ? "gpu" : "hybrid"; }

/// In mode gpu, with panels of 32 columns, the next panel's columns are updated at once nowhere, where half of the
/// matrix is left, or wherever the kernel takes them. The largest difference of an element from the first ones'
/// factors.
inline double difference_by_leading_rows(const GpuMachine& machine) {
    const LuShape shape{300, 290, {64, 64}, 32};
    const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
    std::vector<Factored<double>> factored;
    for (const Index rows : {Index{0}, Index{150}, Index{1} << 20}) {
        Config config = machine.config();
        const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.lu.leading_rows = rows; });
        config.tuning = tables;
        Runtime runtime(config);
        factored.push_back(factor(runtime, a, shape, gpu_alone(32)));
        CHECK(factor_ratio(a, factored.back().lu, factored.back().pivots) < 30);
        CHECK(factored.back().pivots == factored.front().pivots);
    }
    double difference = 0;
    for (const Factored<double>& other : factored) {
        for (std::size_t i = 0; i < other.lu.values.size(); ++i) {
            difference = std::max(difference, std::abs(other.lu.values[i] - factored.front().lu.values[i]));
        }
    }
    return difference;
}

/// max |P L U - A| / (n max |A| eps).
template <class T>
double error_of(const Dense<T>& a, const Factored<T>& factored) {
    const Index steps = std::min(a.m, a.n);
    double error = 0, norm = 0;
    for (Index j = 0; j < a.n; ++j) {
        std::vector<long double> column(static_cast<std::size_t>(a.m));
        for (Index i = 0; i < a.m; ++i) {
            for (Index k = 0; k <= std::min({i, j, steps - 1}); ++k) {
                const long double l = k == i ? 1 : factored.lu(i, k);
                column[static_cast<std::size_t>(i)] += l * factored.lu(k, j);
            }
        }
        for (Index k = steps - 1; k >= 0; --k) {
            const Index pivot = factored.pivots[static_cast<std::size_t>(k)] - 1;
            std::swap(column[static_cast<std::size_t>(k)], column[static_cast<std::size_t>(pivot)]);
        }
        for (Index i = 0; i < a.m; ++i) {
            error = std::max(error, std::abs(double(column[static_cast<std::size_t>(i)] - a(i, j))));
            norm = std::max(norm, std::abs(double(a(i, j))));
        }
    }
    return norm == 0 ? error : error / (double(std::max(a.m, a.n)) * norm * std::numeric_limits<T>::epsilon());
}

/// LU of a square matrix by plain loops, in the order of LAPACK's getf2: each element is changed and rounded in each
/// step.
template <class T>
Factored<T> plain_getrf(const Dense<T>& a) {
    Factored<T> result{a, {}, 0};
    Dense<T>& lu = result.lu;
    for (Index k = 0; k < a.n; ++k) {
        Index pivot = k;
        for (Index i = k; i < a.m; ++i) {
            if (std::abs(lu(i, k)) > std::abs(lu(pivot, k))) pivot = i;
        }
        result.pivots.push_back(pivot + 1);
        for (Index j = 0; j < a.n; ++j) std::swap(lu(k, j), lu(pivot, j));
        for (Index i = k + 1; i < a.m; ++i) lu(i, k) /= lu(k, k);
        for (Index j = k + 1; j < a.n; ++j) {
            for (Index i = k + 1; i < a.m; ++i) lu(i, j) -= lu(i, k) * lu(k, j);
        }
    }
    return result;
}

template <class T>
double lapack_error(const Dense<T>& a) {
    return error_of(a, lapack_getrf(a));
}

/// The larger one of LAPACK's error and that of plain loops: OpenBLAS's differs by a factor of 2.5 from one processor
/// to another, and lies up to 9 times below plain loops, for matrices with large diagonals (spd).
template <class T>
double lapack_or_plain_error(const Dense<T>& a) {
    return std::max(lapack_error(a), error_of(a, plain_getrf(a)));
}

/// On average over some matrices of a kind at most twice the expected error, but for one rounding of the largest
/// element. Single matrices say little where pivots are nothing but rounding (deficient): then the ratio of two errors
/// is between 1 and 3, with plain products as well.
template <class T>
void check_errors(const GpuMachine& machine, const std::vector<const char*>& generators, Index n, Index panel_width,
                  double (*expected_error)(const Dense<T>&) = lapack_error<T>) {
    constexpr unsigned first_seed = 3;
    const LuShape shape{n, n, {panel_width / 2, panel_width}, panel_width};
    LuOptions by_solve = hybrid(panel_width);
    by_solve.solve_by_inverse = false;
    const std::array all_options{hybrid(panel_width), by_solve, gpu_alone(panel_width)};
    Runtime runtime(machine.config());
    for (const char* name : generators) {
        const unsigned seeds = std::string_view(name) == "deficient" ? 16 : 1;
        double expected = 0;
        std::array<double, all_options.size()> errors{};
        for (unsigned seed = first_seed; seed < first_seed + seeds; ++seed) {
            const Dense<T> a = generated<T>(name, n, n, seed);
            expected += expected_error(a) / seeds;
            for (std::size_t i = 0; i < all_options.size(); ++i) {
                const Watchdog watchdog;
                errors[i] += error_of(a, factor(runtime, a, shape, all_options[i])) / seeds;
            }
        }
        for (std::size_t i = 0; i < all_options.size(); ++i) {
            INFO(name << ", " << name_of(all_options[i]) << (all_options[i].solve_by_inverse ? "" : " by solve") << ": "
                      << errors[i] << ", expected " << expected);
            CHECK(errors[i] <= 2 * expected + 1 / static_cast<double>(n));
        }
    }
}

/// L U whose factors are those of its LU factorization, without interchanges: blocks of 32 columns of L have inverses
/// that grow with almost 2^32.
inline Dense<double> matrix_of_large_inverses(Index n) {
    const Dense<double> random = random_dense<double>(n, n, 17);  // below 0.5
    Dense<double> a(n, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index k = 0; k <= std::min(i, j); ++k) {
                const double l = k == i ? 1 : k / 32 == i / 32 ? 0.001 * random(i, k) - 0.95 : 0.02 * random(i, k);
                sum += l * (k == j ? 1 : 2 * random(k, j));
            }
            a(i, j) = sum;
        }
    }
    return a;
}

/// Mode hybrid, where multiplication with these inverses would leave an error 1e5 times that of substitution.
inline void check_large_inverses(const GpuMachine& machine, Index n, Index panel_width) {
    const Dense<double> a = matrix_of_large_inverses(n);
    const double expected = error_of(a, lapack_getrf(a));
    Runtime runtime(machine.config());
    LuOptions options = hybrid(panel_width);
    for (const bool by_inverse : {true, false}) {
        options.solve_by_inverse = by_inverse;
        const LuShape shape{n, n, {panel_width, 2 * panel_width}, panel_width};
        const double error = error_of(a, factor(runtime, a, shape, options));
        INFO((by_inverse ? "by inverse" : "by substitution") << ": " << error << ", LAPACK " << expected);
        CHECK(error <= 2 * expected + 0.05);
    }
}

/// These options, with GPUs factoring no panel, those from the middle on, and all: whatever the lookahead allows.
inline std::vector<LuOptions> with_gpu_panels(const LuOptions& options, const LuShape& shape) {
    std::vector<LuOptions> all{options};
    if (options.lookahead.value_or(1) > 1) return all;
    all.push_back(options);
    all.back().gpu_panels_below = shape.m / 2;
    all.push_back(options);
    all.back().mode = LuMode::gpu;
    return all;
}

/// LAPACK's ratio of random matrices.
template <class T>
void check_residuals(const GpuMachine& machine, const std::vector<LuShape>& shapes) {
    Runtime runtime(machine.config());
    for (const LuShape& shape : shapes) {
        const Dense<T> a = random_dense<T>(shape.m, shape.n, 3);
        for (const LuOptions& options : with_gpu_panels(hybrid(shape.panel_width), shape)) {
            const Watchdog watchdog;
            const Factored<T> got = factor(runtime, a, shape, options);
            INFO(name_of(options) << ", " << shape.m << " x " << shape.n << ", " << machine.gpus << " GPUs");
            CHECK(got.info == 0);
            CHECK(factor_ratio(a, got.lu, got.pivots) < 30);
            CHECK(largest_multiplier(got.lu) <= 1);
        }
    }
}

/// LAPACK's pivots, where rounding cannot change them: each far larger than what else there was to choose, or of exact
/// integers with equal ones among them.
template <class T>
void check_pivots(const GpuMachine& machine, const std::vector<LuShape>& shapes) {
    Runtime runtime(machine.config());
    for (const LuShape& shape : shapes) {
        for (const bool exact : {false, true}) {
            const Dense<T> a = exact ? incidence<T>(shape.m, shape.n, 7) : well_separated<T>(shape.m, shape.n, 5);
            const Factored<T> expected = lapack_getrf(a);
            for (const LuOptions& options : with_gpu_panels(hybrid(shape.panel_width), shape)) {
                const Watchdog watchdog;
                const Factored<T> got = factor(runtime, a, shape, options);
                INFO(name_of(options) << ", " << shape.m << " x " << shape.n << (exact ? " of integers, " : ", ")
                                      << machine.gpus << " GPUs");
                CHECK(got.pivots == expected.pivots);
                CHECK(got.info == expected.info);
            }
        }
    }
}

/// Keeps a runtime of its own, on the same machine, busy with factorizations in mode gpu.
class OtherLoad {
  public:
    OtherLoad(GpuMachine machine, Index n) : thread_([this, machine, n] { work(machine, n); }) {}
    ~OtherLoad() {
        stop_ = true;
        thread_.join();
    }
    OtherLoad(const OtherLoad&) = delete;
    OtherLoad& operator=(const OtherLoad&) = delete;

  private:
    void work(const GpuMachine& machine, Index n) {
        Runtime runtime(machine.config());
        const Dense<double> a = random_dense<double>(n, n, 99);
        for (Index width = 32; !stop_; width = width == 32 ? 96 : 32)
            factor(runtime, a, {n, n, {96, 96}, width}, gpu_alone(width));
    }

    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// The same bits and pivots, run after run, whatever else the machine has to do.
template <class T>
void check_repeated(const GpuMachine& machine, const LuShape& shape, const LuOptions& options, int repeats,
                    Index other_order) {
    const Dense<T> a = random_dense<T>(shape.m, shape.n, 11);
    Runtime runtime(machine.config());
    const Factored<T> first = factor(runtime, a, shape, options);
    const OtherLoad other(machine, other_order);
    int different = 0;
    for (int i = 0; i < repeats; ++i) {
        const Factored<T> again = factor(runtime, a, shape, options);
        if (again.pivots != first.pivots || again.lu.values != first.lu.values) ++different;
    }
    INFO(name_of(options) << ", " << shape.m << " x " << shape.n << ", " << machine.gpus << " GPUs");
    CHECK(different == 0);
}

/// Exact arithmetic in any order: pivots and factors must be those of the cores, to the bit.
template <class T>
void check_exact(const GpuMachine& machine, const LuShape& shape, const LuOptions& options) {
    const Dense<T> a = generated<T>("integer", shape.m, shape.n, 7);
    Config cores;
    cores.workers = machine.workers;
    Runtime reference(cores);
    LuOptions plain;
    plain.mode = LuMode::cpu;
    const Factored<T> expected = factor(reference, a, shape, plain);
    Runtime runtime(machine.config());
    for (const LuOptions& tried : with_gpu_panels(options, shape)) {
        const Factored<T> got = factor(runtime, a, shape, tried);
        INFO(name_of(tried) << ", GPU panels below " << shown(tried.gpu_panels_below));
        INFO(shape.m << " x " << shape.n << ", tiles " << shape.tile.height << " x " << shape.tile.width
                     << ", panels of " << shown(options.panel_width) << ", lookahead " << shown(options.lookahead)
                     << ", " << machine.gpus << " GPUs, memory " << machine.memory);
        CHECK(got.pivots == expected.pivots);
        CHECK(got.info == expected.info);
        CHECK(largest_difference(got.lu, expected.lu) == 0);
    }
}

/// Columns of zeros, one in the middle, all from there on, the first, all: INFO is LAPACK's, so are the pivots left of
/// the zeros, and the factors are complete.
inline void check_singular(const GpuMachine& machine, const LuShape& shape) {
    Runtime runtime(machine.config());
    for (const Index first : {std::min(shape.m, shape.n) / 2, Index{0}}) {
        for (const Index count : {Index{1}, shape.n}) {
            Dense<double> a = generated<double>("integer", shape.m, shape.n, 5);
            for (Index j = first; j < std::min(first + count, shape.n); ++j) {
                for (Index i = 0; i < shape.m; ++i) a(i, j) = 0;
            }
            const Factored<double> expected = lapack_getrf(a);
            REQUIRE(expected.info == first + 1);
            for (const LuOptions& options : with_gpu_panels(hybrid(shape.panel_width), shape)) {
                const Watchdog watchdog;
                const Factored<double> got = factor(runtime, a, shape, options);
                INFO(name_of(options) << ", GPU panels below " << shown(options.gpu_panels_below) << ", " << shape.m
                                      << " x " << shape.n << ", zeros in " << count << " columns from " << first);
                CHECK(got.info == expected.info);
                CHECK(std::equal(got.pivots.begin(), got.pivots.begin() + first, expected.pivots.begin()));
                CHECK(factor_ratio(a, got.lu, got.pivots) < 30);
                CHECK(largest_multiplier(got.lu) <= 1);
            }
        }
    }
}

/// NaN and infinities everywhere, in a column, in a row, on the diagonal: the end comes, and pivots are rows there are.
template <class T>
void check_no_numbers(const GpuMachine& machine, const LuShape& shape) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Runtime runtime(machine.config());
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
        for (int where = 0; where < 4; ++where) {
            Dense<T> a = random_dense<T>(shape.m, shape.n, 11);
            for (Index j = 0; j < a.n; ++j) {
                for (Index i = 0; i < a.m; ++i) {
                    const bool hit = where == 0 || (where == 1 && j == shape.n / 2) ||
                                     (where == 2 && i == shape.m / 2) || (where == 3 && i == j);
                    if (hit) a(i, j) = static_cast<T>(bad);
                }
            }
            for (const LuOptions& options : with_gpu_panels(hybrid(shape.panel_width), shape)) {
                const Watchdog watchdog;
                const Factored<T> got = factor(runtime, a, shape, options);
                INFO(bad << " at place " << where << ", " << name_of(options) << ", GPU panels below "
                         << shown(options.gpu_panels_below));
                CHECK(got.info == 0);
                for (Index k = 0; k < std::ssize(got.pivots); ++k) {
                    const Index pivot = got.pivots[static_cast<std::size_t>(k)];
                    if (pivot <= k || pivot > shape.m) FAIL("pivot " << k << " is " << pivot);
                }
                const auto no_number = [](T x) { return !std::isfinite(x); };
                CHECK(std::any_of(got.lu.values.begin(), got.lu.values.end(), no_number));
            }
        }
    }
}

}  // namespace basalt_tests
