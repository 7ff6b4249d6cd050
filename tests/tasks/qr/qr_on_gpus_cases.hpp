#pragma once

// What the tests of QR in the modes hybrid and gpu share, on emulated GPUs and on real ones.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/common/shown.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/qr/qr_oracle.hpp"

namespace basalt_tests {

struct QrShape {
    Index m;
    Index n;
    basalt::TileShape tile;
    Index panel_width;
};

/// In mode hybrid cores factor to the end.
inline basalt::QrOptions qr_options(basalt::QrMode mode, Index panel_width, std::optional<int> lookahead = {}) {
    basalt::QrOptions options;
    options.mode = mode;
    options.panel_width = panel_width;
    options.lookahead = lookahead;
    options.gpu_panels_below = 0;
    return options;
}

/// Rows left where half of the columns of a matrix, or of what can be factored of it, are.
inline Index middle_row(const QrShape& shape) { return shape.m - std::min(shape.m, shape.n) / 2; }

/// With and without lookahead: GPUs factor no panel, those from the middle on, and all.
inline std::vector<basalt::QrOptions> gpu_variants(const QrShape& shape) {
    using basalt::QrMode;
    std::vector<basalt::QrOptions> all;
    for (const int lookahead : {1, 0}) {
        all.push_back(qr_options(QrMode::hybrid, shape.panel_width, lookahead));
        all.push_back(all.back());
        all.back().gpu_panels_below = middle_row(shape);
        all.push_back(qr_options(QrMode::gpu, shape.panel_width, lookahead));
    }
    return all;
}

template <class T>
void check_qr_on(basalt::Runtime& runtime, const Dense<T>& a, const QrShape& shape) {
    for (const basalt::QrOptions& options : gpu_variants(shape)) {
        const Watchdog watchdog;
        INFO(shape.m << " x " << shape.n << ", tiles " << shape.tile.height << " x " << shape.tile.width
                     << ", panels of " << shape.panel_width << ", " << basalt::name_of(options.mode) << ", lookahead "
                     << shown(options.lookahead) << ", GPU panels below " << shown(options.gpu_panels_below) << ", "
                     << runtime.gpus() << " GPUs");
        check_qr(a, factor_qr(runtime, a, shape.tile, options));
    }
}

template <class T>
void check_hard_matrices(basalt::Runtime& runtime, const std::vector<QrShape>& shapes) {
    for (const QrShape& shape : shapes) {
        for (const HardMatrix<T>& hard : hard_matrices<T>(shape.m, shape.n)) {
            INFO(hard.what);
            check_qr_on(runtime, hard.a, shape);
        }
    }
}

/// One panel of columns ever closer to the first, on both sides of where a GPU's leaves are no longer Cholesky QR's.
template <class T>
void check_conditions(basalt::Runtime& runtime, Index m, Index n) {
    const Dense<T> random = random_dense<T>(m, n, 31);
    for (int digits = 0; digits <= 18; ++digits) {
        const Watchdog watchdog;
        Dense<T> a = random;
        for (Index j = 1; j < n; ++j) {
            for (Index i = 0; i < m; ++i)
                a(i, j) = static_cast<T>(random(i, 0) + std::pow(10.0, -digits / 2.0) * random(i, j));
        }
        INFO(m << " x " << n << ", columns 10^-" << digits / 2.0 << " apart");
        check_qr(a, factor_qr(runtime, a, {n, n}, qr_options(basalt::QrMode::gpu, n)));
    }
}

/// Where a NaN or infinity is, tau is NaN from its column on, in every mode.
inline void check_no_numbers(basalt::Runtime& runtime, const QrShape& shape, Index column) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Dense<double> a = random_dense<double>(shape.m, shape.n, 3);
        a(shape.m - 1, column) = bad;
        for (const basalt::QrOptions& options : gpu_variants(shape)) {
            const Watchdog watchdog;
            INFO(bad << ", " << basalt::name_of(options.mode) << ", lookahead " << shown(options.lookahead)
                     << ", GPU panels below " << shown(options.gpu_panels_below));
            const QrResult<double> f = factor_qr(runtime, a, shape.tile, options);
            for (Index k = 0; k < std::ssize(f.tau); ++k)
                CHECK(std::isnan(f.tau[static_cast<std::size_t>(k)]) == (k >= column));
        }
    }
}

/// LAPACK's reflectors, in arrays on the host, on GPUs with tile columns of 32: Q formed, and applied from both sides.
template <class T>
void check_reflectors_of_lapack(const GpuMachine& machine, const std::vector<std::array<Index, 2>>& shapes) {
    using basalt::QrOp;
    using basalt::QrSide;
    basalt::Config config = machine.config();
    config.statistics = true;
    config.tuning = gpu_tables_with([](basalt::GpuTuning& gpu) {
        gpu.qr.sizes = {{basalt::any_size, 16, 16, 32}};
        gpu.qr.least_work = 0;
    });
    basalt::Runtime runtime(config);
    for (const auto& [m, k] : shapes) {
        const QrResult<T> f = lapack_geqrf(random_dense<T>(m, k, 8));
        for (const Index cols : {k, (k + m) / 2, m}) {
            INFO(m << " x " << cols << " of " << k << " reflectors, " << machine.gpus << " GPUs");
            Dense<T> q(m, cols);
            for (Index j = 0; j < k; ++j) std::copy_n(&f.a(0, j), m, &q(0, j));
            qr_form<T>(runtime, m, cols, k, q.values.data(), q.ld, f.tau.data());
            CHECK(largest_difference(q, lapack_orgqr(f, cols)) < 100 * roundoff<T>);
            CHECK(q.gap_untouched());
        }
        for (const QrSide side : {QrSide::left, QrSide::right}) {
            for (const QrOp op : {QrOp::plain, QrOp::transposed}) {
                const bool left = side == QrSide::left, plain = op == QrOp::plain;
                INFO(m << " rows, " << k << " reflectors, " << (left ? "left" : "right")
                       << (plain ? "" : ", transposed"));
                const Dense<T> c = left ? random_dense<T>(m, 37, 5) : random_dense<T>(37, m, 5);
                Dense<T> product = c;
                qr_apply<T>(runtime, side, op, c.m, c.n, k, f.a.values.data(), f.a.ld, f.tau.data(),
                            product.values.data(), product.ld);
                CHECK(largest_difference(product, lapack_ormqr(left ? 'L' : 'R', plain ? 'N' : 'T', f, c)) <
                      100 * roundoff<T>);
                CHECK(product.gap_untouched());
            }
        }
    }
    const auto statistics = runtime.statistics().by_name;
    for (const char* const name : {"V^T V", "apply Q"}) {
        INFO(name);
        const auto task = std::find_if(statistics.begin(), statistics.end(),
                                       [&](const basalt::TaskStatistics& each) { return each.name == name; });
        REQUIRE(task != statistics.end());
        CHECK(task->count > 0);
        CHECK(task->cores.count == 0);
    }
}

}  // namespace basalt_tests
