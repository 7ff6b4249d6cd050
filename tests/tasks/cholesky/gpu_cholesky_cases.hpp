#pragma once

// What the tests of Cholesky in the modes hybrid and gpu share, on emulated GPUs and on real ones.
#include <optional>
#include <string>
#include <vector>

#include "tests/common/shown.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

namespace basalt_tests {

/// In mode hybrid the cores factor all panels.
inline CholeskyOptions on_gpus(FactorMode mode, std::optional<Index> panel_width = {},
                               std::optional<int> lookahead = {}) {
    CholeskyOptions options;
    options.mode = mode;
    options.panel_width = panel_width;
    options.lookahead = lookahead;
    options.gpu_panels_below = 0;
    return options;
}

inline constexpr FactorMode gpu_modes[] = {FactorMode::gpu, FactorMode::hybrid};

/// For a matrix of order n, GPUs factoring all panels, none, and the first and those from the middle on, with the rows
/// below the others' squares solved for by a GPU and by the cores.
inline std::vector<CholeskyOptions> with_gpu_panels(Index n, std::optional<Index> panel_width = {},
                                                    std::optional<int> lookahead = {}) {
    std::vector<CholeskyOptions> all;
    for (const FactorMode mode : gpu_modes) all.push_back(on_gpus(mode, panel_width, lookahead));
    for (const bool rows_on_cores : {false, true}) {
        all.push_back(all.back());
        all.back().gpu_panels_below = n / 2;
        all.back().rows_on_cores = rows_on_cores;
    }
    return all;
}

inline std::string text(const CholeskyOptions& options) {
    if (options.mode == FactorMode::gpu) return "gpu";
    return "hybrid, GPU panels below " + shown(options.gpu_panels_below) +
           (options.rows_on_cores ? ", rows on cores" : "");
}

struct CholeskyShape {
    Index n;
    TileShape tile;
    Index panel_width;
};

/// Both triangles, panels on GPUs and cores, dealt in both ways where these differ: LAPACK's residual, and the other
/// side as it was.
template <class T>
void check_on_gpus(const GpuMachine& machine, const CholeskyShape& shape, std::optional<int> lookahead = {}) {
    const Watchdog watchdog;
    Runtime runtime(machine.config());
    for (const CholeskyOptions& options : with_gpu_panels(shape.n, shape.panel_width, lookahead)) {
        for (const Triangle triangle : both_triangles) {
            const Dense<T> a = spd_dense<T>(triangle, shape.n, 3);
            INFO(text(options) << ", " << text(triangle) << ", n = " << shape.n << ", tiles " << shape.tile.height
                               << " x " << shape.tile.width << ", panels of " << shape.panel_width << ", lookahead "
                               << shown(lookahead) << ", " << machine.gpus << " GPUs, memory " << machine.memory);
            check_cholesky(triangle, a, factor(runtime, triangle, a, shape.tile, options));
            if (machine.gpus < 3) continue;
            INFO("dealt cyclically");
            check_cholesky(triangle, a, factor(runtime, triangle, a, shape.tile, options, basalt::Deal::cyclic));
        }
    }
}

/// A matrix made on the GPUs is factored there, and one in a GPU's memory (on an emulated one: anybody's) is loaded and
/// stored.
template <class T, class GpuArray>
void check_arrays_on_gpu(Runtime& runtime, const CholeskyShape& shape, GpuArray make_array) {
    for (const Triangle triangle : both_triangles) {
        for (const bool by_rows : {false, true}) {
            const Watchdog watchdog;
            const Dense<T> a = spd_dense<T>(triangle, shape.n, 8, 5);
            auto array = make_array(a.values);
            const auto view = by_rows ? View<T>::row_major(array.data(), shape.n, shape.n, a.ld)
                                      : View<T>::column_major(array.data(), shape.n, shape.n, a.ld);
            // the same elements read by rows are the other triangle
            const Triangle seen = (triangle == Triangle::lower) != by_rows ? Triangle::lower : Triangle::upper;
            Matrix<T> matrix(runtime, shape.n, shape.n, shape.tile);
            matrix.load_triangle(seen, view, basalt::Place::gpu(0));
            const auto cholesky = cholesky_factor(runtime, matrix, seen, on_gpus(FactorMode::gpu, shape.panel_width));
            matrix.store_triangle(seen, view, basalt::Place::gpu(0));
            runtime.wait();
            CholeskyResult<T> got{a, cholesky.info()};
            got.factor.values = array.read();
            INFO(text(triangle) << (by_rows ? " by rows" : " by columns") << ", n = " << shape.n);
            check_cholesky(triangle, a, got);
            CHECK(got.factor.gap_untouched());
            matrix.store_triangle(seen, view, basalt::Place::gpu(0), basalt::OtherSide::zeros);
            runtime.wait();
            Dense<T> zeros = got.factor;
            zeros.values = array.read();
            Index wrong = 0;
            for (Index j = 0; j < shape.n; ++j) {
                for (Index i = 0; i < shape.n; ++i) {
                    const bool inside = triangle == Triangle::lower ? i >= j : i <= j;
                    if (zeros(i, j) != (inside ? got.factor(i, j) : T{0})) ++wrong;
                }
            }
            CHECK(wrong == 0);
            CHECK(zeros.gap_untouched());
        }
    }
}

}  // namespace basalt_tests
