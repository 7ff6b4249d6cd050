// Matrices whose elements are denormal or infinite: INFO and solutions as LAPACK's, in all modes, on emulated GPUs.
#include <cmath>
#include <limits>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/cholesky/extreme_pivots.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr TileShape tile{32, 48};

/// Cores alone, and one or two GPUs in both modes.
struct Machine {
    int gpus;
    FactorMode mode;
};
constexpr Machine machines[] = {
    {0, FactorMode::cpu}, {1, FactorMode::hybrid}, {1, FactorMode::gpu}, {2, FactorMode::hybrid}, {2, FactorMode::gpu}};

template <class Check>
void for_each_machine(const Check& check) {
    for (const auto& [gpus, mode] : machines) {
        Config config = GpuMachine{.gpus = gpus}.config();
        Runtime runtime(config);
        INFO(gpus << " GPUs, mode " << name_of(mode));
        check(runtime, mode);
    }
}

/// A times a power of two that leaves `digits` bits to its largest elements.
template <class T>
Dense<T> denormal(const Dense<T>& a, int digits) {
    Dense<T> result = a;
    for (T& x : result.values) x *= std::ldexp(std::numeric_limits<T>::denorm_min(), digits);
    return result;
}

/// The largest |B - A X| in units of the errors that rounding A's elements makes: half of the least number in each
/// product, n of which are added.
template <class T>
double residual(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
    double worst = 0, largest_x = 0;
    for (Index c = 0; c < b.n; ++c) {
        for (Index i = 0; i < a.m; ++i) {
            long double sum = b(i, c);
            for (Index k = 0; k < a.n; ++k) sum -= static_cast<long double>(a(i, k)) * x(k, c);
            worst = larger_or_nan(worst, static_cast<double>(std::abs(sum) / std::numeric_limits<T>::denorm_min()));
            largest_x = larger_or_nan(largest_x, std::abs(static_cast<double>(x(i, c))));
        }
    }
    return worst / (static_cast<double>(a.n) * largest_x);
}

/// Right-hand sides whose solutions are about 1: sums of columns.
template <class T>
Dense<T> sums_of_columns(const Dense<T>& a, Index count) {
    Dense<T> b(a.m, count);
    for (Index c = 0; c < count; ++c) {
        for (Index i = 0; i < a.m; ++i) {
            long double sum = 0;
            for (Index k = 0; k < a.n; ++k) sum += a(i, k) * (k % (c + 2) == 0 ? 1 : -1);
            b(i, c) = static_cast<T>(sum);
        }
    }
    return b;
}

/// solve(A, B) with tiles; B becomes the solution. Returns it, or checks INFO.
template <class T, class Solve>
Dense<T> solved(Runtime& runtime, const Dense<T>& a, const Dense<T>& b, const Solve& solve) {
    auto matrix = Matrix<T>::from_columns(runtime, a.values.data(), a.m, a.n, a.ld, tile);
    auto x = Matrix<T>::from_columns(runtime, b.values.data(), b.m, b.n, b.ld, {tile.height, 2});
    const auto factors = solve(matrix, x);
    Dense<T> result = b;
    x.store(result.view());
    runtime.wait();
    CHECK(factors.info() == 0);
    return result;
}

constexpr Index n = 150, right_hand_sides = 3;

/// Measured: below 3 for LU and QR and 8 for Cholesky, whose right-hand sides pass two triangles.
constexpr double most = 20;

/// Whether our residual is at most twice LAPACK's. NaN of LAPACK's, where there is no solution, is worse than any:
/// OpenBLAS's gesv multiplies by reciprocals of pivots, and those of denormal ones are infinite.
bool as_good_as(double lapacks, double ours) { return std::isnan(lapacks) || ours <= 2 * lapacks; }

}  // namespace

TEMPLATE_TEST_CASE("LU solves systems of denormal numbers as accurately as LAPACK", "[lu][sanitize]", float, double) {
    using T = TestType;
    for (const int digits : {12, 20}) {
        const Dense<T> a = denormal(random_dense<T>(n, n, 1), digits), b = sums_of_columns(a, right_hand_sides);
        const double lapacks = residual(a, lapack_gesv(a, b).x, b);
        for_each_machine([&](Runtime& runtime, FactorMode mode) {
            const Dense<T> x = solved(runtime, a, b, [&](Matrix<T>& matrix, Matrix<T>& rhs) {
                auto lu = lu_factor(runtime, matrix, {.mode = mode, .panel_width = 16});
                lu_solve(runtime, lu, rhs);
                return lu;
            });
            CHECK(residual(a, x, b) < most);
            CHECK(as_good_as(lapacks, residual(a, x, b)));
        });
    }
}

TEMPLATE_TEST_CASE("Cholesky solves systems of denormal numbers as accurately as LAPACK", "[cholesky][sanitize]", float,
                   double) {
    using T = TestType;
    for (const int digits : {12, 20}) {
        Dense<T> a = generated<T>("spd", n, n, 3);
        a = denormal(a, digits - std::ilogb(a(0, 0)));
        const Dense<T> b = sums_of_columns(a, right_hand_sides);
        for (const Triangle triangle : both_triangles) {
            const double lapacks = residual(a, lapack_posv(triangle, a, b), b);
            for_each_machine([&](Runtime& runtime, FactorMode mode) {
                const Dense<T> x = solved(runtime, a, b, [&](Matrix<T>& matrix, Matrix<T>& rhs) {
                    auto cholesky = cholesky_factor(runtime, matrix, triangle, {.mode = mode, .panel_width = 16});
                    cholesky_solve(runtime, cholesky, rhs);
                    return cholesky;
                });
                CHECK(residual(a, x, b) < most);
                CHECK(as_good_as(lapacks, residual(a, x, b)));
            });
        }
    }
}

TEMPLATE_TEST_CASE("QR solves systems of denormal numbers", "[qr][sanitize]", float, double) {
    using T = TestType;
    for (const int digits : {12, 20}) {
        const Dense<T> a = denormal(random_dense<T>(n, n, 1), digits), b = sums_of_columns(a, right_hand_sides);
        for_each_machine([&](Runtime& runtime, FactorMode mode) {
            for (const QrMethod method : {QrMethod::blocked, QrMethod::tile}) {
                if (method == QrMethod::tile && mode != FactorMode::cpu) continue;
                const Dense<T> x = solved(runtime, a, b, [&](Matrix<T>& matrix, Matrix<T>& rhs) {
                    auto qr = qr_factor(runtime, matrix, {.mode = mode, .method = method, .panel_width = 16});
                    qr_solve(runtime, qr, rhs);
                    return qr;
                });
                CHECK(residual(a, x, b) < most);
            }
        });
    }
}

TEMPLATE_TEST_CASE("Cholesky takes denormal and infinite pivots as LAPACK does", "[cholesky][sanitize]", float,
                   double) {
    using T = TestType;
    for (const ExtremeMatrix<T>& extreme : extreme_matrices<T>(70)) {
        for_each_machine([&](Runtime& runtime, FactorMode mode) {
            const auto got =
                factor(runtime, Triangle::lower, extreme.a, tile, CholeskyOptions{.mode = mode, .panel_width = 16});
            INFO(extreme.what);
            CHECK(got.info == extreme.info);
            if (got.info == 0 && extreme.info == 0) CHECK(same_factor(got.factor, extreme.factor));
        });
    }
}
