#pragma once

// Solving with factors that are on GPUs, on emulated ones and on real ones.

#include <cmath>

#include <basalt/basalt.hpp>

#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tests/common/catch.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

namespace basalt_tests {

using namespace basalt;

struct SolveShape {
    Index n;
    Index nrhs;
    TileShape tile;
    TileShape tile_of_b;
};

/// Whether the host's memory holds some of the matrix.
template <class T>
bool is_at_home(const Matrix<T>& a) {
    for (Index j = 0; j < a.tile_cols(); ++j) {
        if (detail::gpu_data(a.runtime()).at_home(*a.share_storage()->datum(j))) return true;
    }
    return false;
}

/// LU and both triangles of Cholesky: LAPACK's residual, and factors that stay where they are. B is at home.
template <class T>
void check_solves_on_gpus(Runtime& runtime, FactorMode mode, const SolveShape& shape) {
    INFO((mode == FactorMode::gpu ? "gpu" : "hybrid")
         << ", n = " << shape.n << ", " << shape.nrhs << " right-hand sides, tiles " << shape.tile.height << " x "
         << shape.tile.width << ", of B " << shape.tile_of_b.height << " x " << shape.tile_of_b.width);
    const Dense<T> b = random_dense<T>(shape.n, shape.nrhs, 72);
    const auto check = [&](const Dense<T>& a, const Matrix<T>& factored, const auto& solve) {
        Matrix<T> x = to_tiles(runtime, b, shape.tile_of_b);
        solve(x);
        CHECK_FALSE(is_at_home(factored));
        CHECK(solve_ratio(a, from_tiles(runtime, x), b) < 30);
    };
    {
        const Dense<T> a = random_dense<T>(shape.n, shape.n, 71);
        Matrix<T> tiles = to_tiles(runtime, a, shape.tile);
        const LuFactors<T> lu = lu_factor(runtime, tiles, {.mode = mode});
        check(a, tiles, [&](Matrix<T>& x) { lu_solve(runtime, lu, x); });
        Dense<T> transposed = a;
        for (Index i = 0; i < a.m; ++i) {
            for (Index j = 0; j < a.n; ++j) transposed(i, j) = a(j, i);
        }
        check(transposed, tiles, [&](Matrix<T>& x) { lu_solve_transposed(runtime, lu, x); });
        lu_prepare_solves(runtime, lu);
        check(a, tiles, [&](Matrix<T>& x) { lu_solve(runtime, lu, x); });
        check(transposed, tiles, [&](Matrix<T>& x) { lu_solve_transposed(runtime, lu, x); });
    }
    for (const Triangle triangle : both_triangles) {
        const Dense<double> both_sides = symmetric(triangle, spd_dense<T>(triangle, shape.n, 73));
        Dense<T> a(shape.n, shape.n);
        for (Index j = 0; j < a.n; ++j) {
            for (Index i = 0; i < a.m; ++i) a(i, j) = static_cast<T>(both_sides(i, j));
        }
        Matrix<T> tiles = to_tiles(runtime, a, shape.tile);
        const CholeskyFactors<T> cholesky = cholesky_factor(runtime, tiles, triangle, {.mode = mode});
        check(a, tiles, [&](Matrix<T>& x) { cholesky_solve(runtime, cholesky, x); });
        cholesky_prepare_solves(runtime, cholesky);
        check(a, tiles, [&](Matrix<T>& x) { cholesky_solve(runtime, cholesky, x); });
    }
}

/// QR of n + 40 rows and n columns: Q^T Q is the identity, least squares are those of the cores, and the least norm
/// solution of A^T X = B solves it; the factors stay where they are.
template <class T>
void check_reflections_on_gpus(Runtime& runtime, FactorMode mode, const SolveShape& shape) {
    const Index n = shape.n, m = n + 40;
    INFO((mode == FactorMode::gpu ? "gpu" : "hybrid")
         << ", " << m << " x " << n << ", " << shape.nrhs << " right-hand sides, tiles " << shape.tile.height << " x "
         << shape.tile.width << ", of B " << shape.tile_of_b.height << " x " << shape.tile_of_b.width);
    const Dense<T> a = random_dense<T>(m, n, 91), b = random_dense<T>(m, shape.nrhs, 92);
    const double tolerance = 100 * static_cast<double>(m) * roundoff<T>;
    Matrix<T> on_gpus = to_tiles(runtime, a, shape.tile), on_cores = to_tiles(runtime, a, shape.tile);
    const QrFactors<T> qr = qr_factor(runtime, on_gpus, {.mode = mode});

    Matrix<T> q = qr_form(runtime, qr);
    qr_apply(runtime, qr, QrSide::left, QrOp::transposed, q);
    const Dense<T> unit = from_tiles(runtime, q);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < m; ++i) REQUIRE(std::abs(unit(i, j) - (i == j ? T{1} : T{0})) <= tolerance);
    }

    Matrix<T> x = to_tiles(runtime, b, shape.tile_of_b), expected = to_tiles(runtime, b, shape.tile_of_b);
    qr_solve(runtime, qr, x);
    qr_solve(runtime, qr_factor(runtime, on_cores, {.mode = FactorMode::cpu}), expected);
    const Dense<T> least_squares = from_tiles(runtime, x), of_cores = from_tiles(runtime, expected);
    for (Index j = 0; j < b.n; ++j) {
        for (Index i = 0; i < n; ++i) {
            REQUIRE(std::abs(least_squares(i, j) - of_cores(i, j)) <= 100 * tolerance);
        }
    }

    Matrix<T> y = to_tiles(runtime, b, shape.tile_of_b);
    qr_solve_transposed(runtime, qr, y);
    const Dense<T> least_norm = from_tiles(runtime, y);
    for (Index j = 0; j < b.n; ++j) {
        for (Index i = 0; i < n; ++i) {
            double sum = -static_cast<double>(b(i, j));
            for (Index k = 0; k < m; ++k) sum += static_cast<double>(a(k, i)) * static_cast<double>(least_norm(k, j));
            REQUIRE(std::abs(sum) <= 100 * tolerance);
        }
    }
    CHECK_FALSE(is_at_home(on_gpus));
}

}  // namespace basalt_tests
