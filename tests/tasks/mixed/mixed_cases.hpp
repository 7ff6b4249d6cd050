#pragma once

// Systems for mixed precision: given condition numbers, scalings and singular matrices; and the check of an answer.

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"
#include "tiles/norms.hpp"

namespace basalt_tests {

using namespace basalt;

/// A := (I - 2 v v^T) A for a random unit vector v.
inline void reflect_rows(Dense<double>& a, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<double> v(static_cast<std::size_t>(a.m));
    double square = 0;
    for (double& x : v) {
        x = normal(random);
        square += x * x;
    }
    for (Index j = 0; j < a.n; ++j) {
        double sum = 0;
        for (Index i = 0; i < a.m; ++i) sum += v[static_cast<std::size_t>(i)] * a(i, j);
        for (Index i = 0; i < a.m; ++i) a(i, j) -= 2 * sum / square * v[static_cast<std::size_t>(i)];
    }
}

inline Dense<double> transposed_dense(const Dense<double>& a) {
    Dense<double> t(a.n, a.m);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) t(j, i) = a(i, j);
    }
    return t;
}

/// Singular values from 1 down to 1 / condition, equally far apart in their logarithms; vectors of a few random
/// reflections. `symmetric`: positive definite.
inline Dense<double> conditioned(Index n, double condition, unsigned seed, bool symmetric = false) {
    constexpr int reflections = 12;
    std::mt19937 random(seed);
    Dense<double> a(n, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) a(i, j) = 0;
        a(j, j) = n == 1 ? 1 : std::pow(condition, -static_cast<double>(j) / static_cast<double>(n - 1));
    }
    const std::mt19937 same = random;
    for (int r = 0; r < reflections; ++r) reflect_rows(a, random);
    a = transposed_dense(a);
    if (symmetric) random = same;
    for (int r = 0; r < reflections; ++r) reflect_rows(a, random);
    if (symmetric) {
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < j; ++i) a(i, j) = a(j, i);
        }
    }
    return a;
}

inline Dense<double> spd(Index n, unsigned seed) { return generated<double>("spd", n, n, seed); }

/// Returns the factors of the columns.
inline std::vector<double> scale_rows_and_columns(Dense<double>& a, int largest_exponent, unsigned seed,
                                                  bool symmetric = false) {
    std::mt19937 random(seed);
    const auto factors = [&] {
        std::vector<double> all(static_cast<std::size_t>(a.n));
        for (double& x : all) {
            x = std::ldexp(
                1.0, static_cast<int>(random() % static_cast<unsigned>(2 * largest_exponent + 1)) - largest_exponent);
        }
        return all;
    };
    const std::vector<double> rows = factors(), cols = symmetric ? rows : factors();
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) {
            a(i, j) = a(i, j) * rows[static_cast<std::size_t>(i)] * cols[static_cast<std::size_t>(j)];
        }
    }
    return cols;
}

/// A system with badly scaled rows and columns whose solution is known in each component: numbers between 1 and 3 over
/// the factors of the columns.
struct ScaledSystem {
    Dense<double> a, x, b;
};

inline ScaledSystem scaled_system(Dense<double> a, int largest_exponent, unsigned seed, bool symmetric = false) {
    const std::vector<double> cols = scale_rows_and_columns(a, largest_exponent, seed, symmetric);
    const Index n = a.n;
    ScaledSystem system{std::move(a), Dense<double>(n, 2), Dense<double>(n, 2)};
    for (Index c = 0; c < 2; ++c) {
        for (Index j = 0; j < system.a.n; ++j) {
            system.x(j, c) = static_cast<double>(1 + (j + c) % 3) / cols[static_cast<std::size_t>(j)];
        }
        for (Index i = 0; i < system.a.n; ++i) {
            long double sum = 0;
            for (Index j = 0; j < system.a.n; ++j) sum += static_cast<long double>(system.a(i, j)) * system.x(j, c);
            system.b(i, c) = static_cast<double>(sum);
        }
    }
    return system;
}

/// The largest relative error of a component; NaN where one is.
inline double component_error(const Dense<double>& x, const Dense<double>& exact) {
    double worst = 0;
    for (Index c = 0; c < exact.n; ++c) {
        for (Index i = 0; i < exact.m; ++i) {
            const double error = std::abs(x(i, c) - exact(i, c)) / std::abs(exact(i, c));
            worst = max_or_nan(worst, error);
        }
    }
    return worst;
}

/// The largest ||b - A x||_oo / (||A||_oo ||x||_oo eps) of all right-hand sides.
inline double residual_ratio(const Dense<double>& a, const Dense<double>& x, const Dense<double>& b) {
    double norm = 0, worst = 0;
    for (Index i = 0; i < a.m; ++i) {
        double sum = 0;
        for (Index j = 0; j < a.n; ++j) sum += std::abs(a(i, j));
        norm = std::max(norm, sum);
    }
    for (Index c = 0; c < b.n; ++c) {
        double size = 0, residual = 0;
        for (Index j = 0; j < a.n; ++j) size = std::max(size, std::abs(x(j, c)));
        for (Index i = 0; i < a.m; ++i) {
            long double sum = b(i, c);
            for (Index j = 0; j < a.n; ++j) sum -= static_cast<long double>(a(i, j)) * x(j, c);
            residual = max_or_nan(residual, static_cast<double>(std::abs(sum)));
        }
        const double ratio = residual == 0 ? 0 : residual / norm / size * 0x1p53;
        worst = max_or_nan(worst, ratio);
    }
    return worst;
}

/// The largest of the powers of two that bring magnitudes near 1; 1 for 0.
inline std::vector<double> powers_to_one(Index count, const std::function<double(Index)>& largest) {
    std::vector<double> powers;
    for (Index i = 0; i < count; ++i) {
        const double x = largest(i);
        powers.push_back(x > 0 ? std::ldexp(1.0, std::clamp(-std::ilogb(x), -1000, 1000)) : 1);
    }
    return powers;
}

/// residual_ratio() of R A C, C^-1 x and R b: rows and columns are scaled by powers of two, and no size of elements
/// hides that others are wrong.
inline double scaled_residual_ratio(const Dense<double>& a, const Dense<double>& x, const Dense<double>& b) {
    Dense<double> scaled = a, y = x, c = b;
    const auto scale = [](Dense<double>& matrix, const std::vector<double>& rows, const std::vector<double>& cols) {
        for (Index j = 0; j < matrix.n; ++j) {
            for (Index i = 0; i < matrix.m; ++i) {
                matrix(i, j) = matrix(i, j) * rows[static_cast<std::size_t>(i)] * cols[static_cast<std::size_t>(j)];
            }
        }
    };
    const auto ones = [](Index count) { return std::vector<double>(static_cast<std::size_t>(count), 1); };
    const auto rows = powers_to_one(a.m, [&](Index i) {
        double most = 0;
        for (Index j = 0; j < a.n; ++j) most = std::max(most, std::abs(a(i, j)));
        return most;
    });
    scale(scaled, rows, ones(a.n));
    auto cols = powers_to_one(a.n, [&](Index j) {
        double most = 0;
        for (Index i = 0; i < a.m; ++i) most = std::max(most, std::abs(scaled(i, j)));
        return most;
    });
    scale(scaled, ones(a.m), cols);
    for (double& power : cols) power = 1 / power;
    scale(y, cols, ones(x.n));
    scale(c, rows, ones(b.n));
    return residual_ratio(scaled, y, c);
}

struct MixedAnswer {
    MixedResult result;
    Dense<double> x;
    Dense<double> a;  ///< afterwards
};

inline MixedAnswer mixed_answer(Runtime& runtime, const Dense<double>& a, const Dense<double>& b,
                                const MixedOptions& options = {}, TileShape tile = {}) {
    Matrix<double> in_tiles = to_tiles(runtime, a, tile), right = to_tiles(runtime, b, {}), x(runtime, b.m, b.n);
    const MixedResult result = mixed_solve(runtime, in_tiles, right, x, options);
    return {result, from_tiles(runtime, x), from_tiles(runtime, in_tiles)};
}

/// LAPACK's rule: sqrt(n) for a refined solution, a constant for one from factors in double. For the refined one also
/// of the scaled system.
inline void check_answer(const MixedAnswer& answer, const Dense<double>& a, const Dense<double>& b) {
    constexpr double of_double = 20;
    const bool refined = !answer.result.fell_back();
    const double n = static_cast<double>(a.n), unscaled = residual_ratio(a, answer.x, b);
    const double ratio = refined ? std::max(unscaled, scaled_residual_ratio(a, answer.x, b)) : unscaled;
    INFO("n = " << a.n << ", " << answer.result.iterations << " iterations, ratio " << ratio);
    CHECK(answer.result.info == 0);
    CHECK(ratio <= (refined ? std::max(std::sqrt(n), 4.0) : of_double));
    CHECK((answer.result.iterations < 0) == answer.result.fell_back());
}

/// Pivots of a Hilbert matrix are rounding errors from the tenth on: most panels are never factored. A matrix with few
/// such pivots is factored to its end. `config`: of one worker, so that the look at a panel comes before the next ones.
inline void check_pivots_are_watched(Config config, FactorMode mode) {
    config.statistics = true;
    constexpr Index n = 384, panel = 16;
    Dense<double> few = random_dense<double>(n, n, 31);
    for (Index j = n - 16; j < n; ++j) {
        for (Index i = 0; i < n; ++i) few(i, j) = few(i, 0) + 1e-9 * few(i, j);
    }
    const Dense<double> b = random_dense<double>(n, 1, 32);
    const auto panels_of = [&](const Dense<double>& a, MixedOutcome outcome) {
        Runtime runtime(config);
        MixedOptions options{.mode = mode, .fallback = Fallback::none};
        options.lu.panel_width = panel;
        const MixedAnswer answer = mixed_answer(runtime, a, b, options, {64, 64});
        CHECK(answer.result.outcome == outcome);
        CHECK(answer.a.values == a.values);
        std::size_t panels = 0;
        for (const auto& task : runtime.statistics().by_name) panels += task.name == "panel" ? task.count : 0;
        return panels;
    };
    CHECK(panels_of(generated<double>("hilbert", n, n), MixedOutcome::breakdown) < n / panel / 2);
    CHECK(panels_of(few, MixedOutcome::stagnation) == n / panel);
    CHECK(panels_of(conditioned(n, 1e8, 33), MixedOutcome::refined) == n / panel);
    Runtime runtime(config);
    const Dense<double> a = generated<double>("hilbert", n, n);
    const MixedAnswer answer = mixed_answer(runtime, a, b, {.mode = mode}, {64, 64});
    check_answer(answer, a, b);
    CHECK(answer.result.iterations == -3);
}

}  // namespace basalt_tests
