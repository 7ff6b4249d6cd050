#pragma once

// LU of matrices whose columns have very different sizes, in the modes hybrid and gpu.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/tasks/lu/hybrid_lu_cases.hpp"

namespace basalt_tests {

/// Columns of A far from 1, by powers of two, and single precision by fp16 slices in all modes.
struct ScaledColumns {
    Dense<float> a, scaled;

    explicit ScaledColumns(const LuShape& shape) : a(random_dense<float>(shape.m, shape.n, 3)), scaled(a.m, a.n) {
        for (float& x : a.values) x *= 4;  // the largest elements of columns are between 1 and 2
        scaled = a;
        for (Index j = 0; j < a.n; ++j) {
            for (Index i = 0; i < a.m; ++i) scaled(i, j) = std::ldexp(a(i, j), exponent(j));
        }
    }

    static int exponent(Index j) {
        const int away = static_cast<int>(j * 37 % 90 + 6);
        return j % 3 == 0 ? 0 : j % 2 == 0 ? away : -away;
    }
    static std::vector<LuOptions> options(const LuShape& shape) {
        LuOptions by_fp16 = hybrid(shape.panel_width);
        by_fp16.products = basalt::ProductPrecision::split_fp16;
        return with_gpu_panels(by_fp16, shape);
    }
    /// U of the scaled matrix becomes that of A, or the other way round.
    void scale_upper(Dense<float>& lu, int sign) const {
        for (Index j = 0; j < a.n; ++j) {
            for (Index i = 0; i <= std::min(j, a.m - 1); ++i) lu(i, j) = std::ldexp(lu(i, j), sign * exponent(j));
        }
    }
};

/// The same pivots and the same L as those of A, and U times these powers, to the bit.
inline void check_scaled_columns(const GpuMachine& machine, const LuShape& shape) {
    const ScaledColumns columns(shape);
    Runtime runtime(machine.config());
    for (const LuOptions& options : ScaledColumns::options(shape)) {
        const Watchdog watchdog;
        Factored<float> expected = factor(runtime, columns.a, shape, options);
        CHECK(factor_ratio(columns.a, expected.lu, expected.pivots) < 30);
        columns.scale_upper(expected.lu, 1);
        const Factored<float> got = factor(runtime, columns.scaled, shape, options);
        INFO(name_of(options) << ", GPU panels below " << shown(options.gpu_panels_below) << ", " << shape.m << " x "
                              << shape.n << ", " << machine.gpus << " GPUs, memory " << machine.memory);
        CHECK(got.pivots == expected.pivots);
        CHECK((got.lu.values == expected.lu.values));
    }
}

/// Where products add up in another order from one factorization to the next: no column loses digits.
inline void check_digits_of_scaled_columns(const GpuMachine& machine, const LuShape& shape) {
    const ScaledColumns columns(shape);
    Runtime runtime(machine.config());
    for (const LuOptions& options : ScaledColumns::options(shape)) {
        const Watchdog watchdog;
        Factored<float> got = factor(runtime, columns.scaled, shape, options);
        columns.scale_upper(got.lu, -1);
        INFO(name_of(options) << ", GPU panels below " << shown(options.gpu_panels_below));
        CHECK(factor_ratio(columns.a, got.lu, got.pivots) < 1);
        CHECK(largest_multiplier(got.lu) <= 1);
    }
}

}  // namespace basalt_tests
