// Reciprocal condition numbers and solutions with A^T, against LAPACK's.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <lapacke.h>

#include "tests/common/watchdog.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

lapack_int as_int(Index value) { return static_cast<lapack_int>(value); }

/// ||A||_oo
template <class T>
double infinity_norm(const Dense<T>& a) {
    double norm = 0;
    for (Index i = 0; i < a.m; ++i) {
        double sum = 0;
        for (Index j = 0; j < a.n; ++j) sum += std::abs(static_cast<double>(a(i, j)));
        norm = std::max(norm, sum);
    }
    return norm;
}

double lapack_gecon(const Dense<double>& lu, double norm) {
    double rcond = -1;
    LAPACKE_dgecon(LAPACK_COL_MAJOR, 'I', as_int(lu.n), lu.values.data(), as_int(lu.ld), norm, &rcond);
    return rcond;
}
double lapack_gecon(const Dense<float>& lu, double norm) {
    float rcond = -1;
    LAPACKE_sgecon(LAPACK_COL_MAJOR, 'I', as_int(lu.n), lu.values.data(), as_int(lu.ld), static_cast<float>(norm),
                   &rcond);
    return rcond;
}
double lapack_pocon(const Dense<double>& l, double norm) {
    double rcond = -1;
    LAPACKE_dpocon(LAPACK_COL_MAJOR, 'L', as_int(l.n), l.values.data(), as_int(l.ld), norm, &rcond);
    return rcond;
}
double lapack_pocon(const Dense<float>& l, double norm) {
    float rcond = -1;
    LAPACKE_spocon(LAPACK_COL_MAJOR, 'L', as_int(l.n), l.values.data(), as_int(l.ld), static_cast<float>(norm), &rcond);
    return rcond;
}
double lapack_trcon(const Dense<double>& r) {
    double rcond = -1;
    LAPACKE_dtrcon(LAPACK_COL_MAJOR, 'I', 'U', 'N', as_int(r.n), r.values.data(), as_int(r.ld), &rcond);
    return rcond;
}
double lapack_trcon(const Dense<float>& r) {
    float rcond = -1;
    LAPACKE_strcon(LAPACK_COL_MAJOR, 'I', 'U', 'N', as_int(r.n), r.values.data(), as_int(r.ld), &rcond);
    return rcond;
}

/// The same factors go through the same algorithm: only rounding tells the two apart. Beyond the unit roundoff it
/// decides about all digits of both.
template <class T>
void check_condition(double ours, double lapack) {
    INFO("ours " << ours << ", LAPACK's " << lapack);
    if (lapack > 100 * roundoff<T>) {
        CHECK(std::abs(ours - lapack) <= 0.02 * lapack);
    } else {
        CHECK(ours >= 0);
        CHECK(ours < 1000 * roundoff<T>);
    }
}

std::vector<Config> cores_and_gpus() {
    Config on_cores = two_workers(), on_gpus = two_workers();
    on_gpus.emulation.gpus = 3;
    return {on_cores, on_gpus};
}

FactorMode mode_of(const Runtime& runtime) { return runtime.gpus() > 0 ? FactorMode::gpu : FactorMode::cpu; }

template <class T>
Dense<T> transposed_of(const Dense<T>& a) {
    Dense<T> result(a.n, a.m);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) result(j, i) = a(i, j);
    }
    return result;
}

const std::vector<const char*> square_matrices{"random", "hpl", "spd", "hilbert", "graded", "orthogonal"};

}  // namespace

TEMPLATE_TEST_CASE("LU factors solve with the transposed matrix", "[condition][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_and_gpus()) {
        Runtime runtime(config);
        for (const Index n : {0, 1, 31, 33, 150}) {
            const Dense<TestType> a = random_dense<TestType>(n, n, 60);
            for (const Layout& layout : {Layout{{nb, nb}, {.panel_width = nb}},
                                         {{48, nb}, {.panel_width = 12}},
                                         {{512, 512}, {.panel_width = nb}}}) {
                Matrix<TestType> tiles = to_tiles(runtime, a, layout.tile);
                LuOptions options = layout.options;
                options.mode = mode_of(runtime);
                const LuFactors<TestType> lu = lu_factor(runtime, tiles, options);
                for (const Index nrhs : {0, 1, 5}) {
                    INFO(n << " with " << nrhs << ", " << text(layout) << ", " << runtime.gpus() << " GPUs");
                    const Dense<TestType> b = random_dense<TestType>(n, nrhs, 61);
                    Matrix<TestType> x = to_tiles(runtime, b, {40, 2});
                    lu_solve_transposed(runtime, lu, x);
                    CHECK(solve_ratio(transposed_of(a), from_tiles(runtime, x), b) < 30);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("condition numbers of LU factors are LAPACK's", "[condition]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_and_gpus()) {
        Runtime runtime(config);
        for (const char* const name : square_matrices) {
            for (const Index n : {1, 2, 37, 150}) {
                INFO(name << " of order " << n << ", " << runtime.gpus() << " GPUs");
                const Dense<TestType> a = generated<TestType>(name, n, n);
                Matrix<TestType> tiles = to_tiles(runtime, a, {48, nb});
                const LuFactors<TestType> lu = lu_factor(runtime, tiles, {.mode = mode_of(runtime)});
                const double norm = infinity_norm(a);
                const double ours = lu_reciprocal_condition(runtime, lu, norm);
                check_condition<TestType>(ours, lapack_gecon(lapack_getrf(a).lu, norm));
            }
        }
    }
}

TEMPLATE_TEST_CASE("condition numbers of Cholesky factors are LAPACK's", "[condition]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_and_gpus()) {
        Runtime runtime(config);
        for (const Index n : {1, 37, 150}) {
            INFO("order " << n << ", " << runtime.gpus() << " GPUs");
            const Dense<TestType> a = generated<TestType>("spd", n, n);
            Matrix<TestType> tiles = to_tiles(runtime, a, {nb, nb});
            const CholeskyFactors<TestType> cholesky =
                cholesky_factor(runtime, tiles, Triangle::lower, {.mode = mode_of(runtime)});
            const double norm = infinity_norm(a);
            const double ours = cholesky_reciprocal_condition(runtime, cholesky, norm);
            check_condition<TestType>(ours, lapack_pocon(from_tiles(runtime, tiles), norm));
        }
    }
}

TEMPLATE_TEST_CASE("condition numbers of QR factors are LAPACK's", "[condition]", float, double) {
    const Watchdog watchdog;
    for (const Config& config : cores_and_gpus()) {
        Runtime runtime(config);
        for (const QrMethod method : {QrMethod::blocked, QrMethod::tile}) {
            if (method == QrMethod::tile && runtime.gpus() > 0) continue;
            for (const char* const name : {"random", "hilbert", "graded"}) {
                for (const Index n : {1, 37, 90}) {
                    INFO(name << " 120 x " << n << ", " << runtime.gpus() << " GPUs");
                    const Dense<TestType> a = generated<TestType>(name, 120, n);
                    Matrix<TestType> tiles = to_tiles(runtime, a, {nb, nb});
                    const QrFactors<TestType> qr =
                        qr_factor(runtime, tiles, {.mode = mode_of(runtime), .method = method});
                    check_condition<TestType>(qr_reciprocal_condition(runtime, qr),
                                              lapack_trcon(from_tiles(runtime, tiles)));
                }
            }
        }
    }
}

TEST_CASE("condition numbers of the extremes", "[condition]") {
    Runtime runtime(two_workers());
    const auto condition = [&](const Dense<double>& a, double norm) {
        Matrix<double> tiles = to_tiles(runtime, a, {nb, nb});
        return lu_reciprocal_condition(runtime, lu_factor(runtime, tiles), norm);
    };
    CHECK(condition(Dense<double>(0, 0), 0) == 1);
    const Dense<double> zero = generated<double>("zero", 40, 40);
    CHECK(condition(zero, 0) == 0);
    CHECK(condition(zero, 1) == 0);
    Dense<double> diagonal = zero;
    for (Index i = 0; i < 40; ++i) diagonal(i, i) = i == 7 ? 1e-30 : 1;
    CHECK(condition(diagonal, 1) == Approx(1e-30));
    for (const double scale : {1e-300, 1e300}) {  // neither A nor its inverse overflows on the way
        Dense<double> scaled = diagonal;
        for (Index i = 0; i < 40; ++i) scaled(i, i) = i == 7 ? scale * 1e-5 : scale;
        CHECK(condition(scaled, scale) == Approx(1e-5));
    }
    CHECK(condition(diagonal, std::numeric_limits<double>::infinity()) == 0);
    CHECK(condition(diagonal, std::numeric_limits<double>::quiet_NaN()) == 0);
}

TEST_CASE("condition numbers ask for the right shape", "[condition]") {
    Runtime runtime(two_workers());
    Matrix<double> wide = to_tiles(runtime, random_dense<double>(20, 30, 1), {nb, nb});
    Matrix<double> wide_too = to_tiles(runtime, random_dense<double>(20, 30, 1), {nb, nb});
    CHECK_THROWS_AS(lu_reciprocal_condition(runtime, lu_factor(runtime, wide), 1), UsageError);
    CHECK_THROWS_AS(qr_reciprocal_condition(runtime, qr_factor(runtime, wide_too)), UsageError);
}

TEST_CASE("factors tell who factored their panels", "[condition]") {
    const Watchdog watchdog;
    for (const Config& config : cores_and_gpus()) {
        Runtime runtime(config);
        const bool on_gpus = runtime.gpus() > 0;
        const auto check = [&](const PanelPlaces& places, Index on_cores, Index on_gpu) {
            CHECK(places.on_cores == on_cores);
            CHECK(places.on_gpus == on_gpu);
        };
        const Dense<double> a = generated<double>("spd", 4 * nb, 4 * nb);
        for (const FactorMode mode : {FactorMode::cpu, FactorMode::gpu, FactorMode::hybrid}) {
            if (mode != FactorMode::cpu && !on_gpus) continue;
            Matrix<double> one = to_tiles(runtime, a, {nb, nb}), two = to_tiles(runtime, a, {nb, nb}),
                           three = to_tiles(runtime, a, {nb, nb});
            // hybrid: the last two, and LU's and QR's first one
            const auto below = mode == FactorMode::hybrid ? std::optional(2 * nb) : std::nullopt;
            const Index from_cores = mode == FactorMode::cpu ? 4 : mode == FactorMode::gpu ? 0 : 2;
            const PanelPlaces lu =
                lu_factor(runtime, one, {.mode = mode, .panel_width = nb, .gpu_panels_below = below}).panel_places();
            const PanelPlaces cholesky = cholesky_factor(runtime, two, Triangle::lower,
                                                         {.mode = mode, .panel_width = nb, .gpu_panels_below = below})
                                             .panel_places();
            const PanelPlaces qr =
                qr_factor(runtime, three, {.mode = mode, .panel_width = nb, .gpu_panels_below = below}).panel_places();
            INFO(name_of(mode));
            if (mode != FactorMode::hybrid) {
                for (const PanelPlaces& places : {lu, cholesky, qr}) check(places, from_cores, 4 - from_cores);
                continue;
            }
            for (const PanelPlaces& places : {lu, cholesky, qr}) {
                CHECK(places.on_cores + places.on_gpus == 4);
                CHECK(places.on_gpus >= 2);
                CHECK(places.on_cores >= 1);
            }
        }
    }
}
