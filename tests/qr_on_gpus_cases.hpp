#pragma once

// What the tests of QR in the modes hybrid and gpu share, on emulated GPUs and on real ones.
#include <chrono>
#include <string>
#include <vector>

#include "tests/qr_oracle.hpp"
#include "tests/watchdog.hpp"

namespace basalt_tests {

struct QrShape {
    Index m;
    Index n;
    basalt::TileShape tile;
    Index panel_width;
};

struct QrMachine {
    int gpus = 1;
    int workers = 2;
    std::size_t memory = 0;
    bool peers = true;
    std::chrono::nanoseconds delay{0};
    bool emulated = true;

    basalt::Config config() const {
        basalt::Config config;
        config.workers = workers;
        config.gpu_memory = memory;
        config.gpus = gpus;
        if (!emulated) return config;
        config.emulation.gpus = gpus;
        config.emulation.peer_access = peers;
        config.emulation.longest_delay = delay;
        return config;
    }
};

inline basalt::QrOptions qr_options(basalt::QrMode mode, Index panel_width, int lookahead = -1) {
    basalt::QrOptions options;
    options.mode = mode;
    options.panel_width = panel_width;
    options.lookahead = lookahead;
    return options;
}

/// Both modes, with and without lookahead.
inline std::vector<basalt::QrOptions> gpu_variants(Index panel_width) {
    using basalt::QrMode;
    return {qr_options(QrMode::hybrid, panel_width, 1), qr_options(QrMode::hybrid, panel_width, 0),
            qr_options(QrMode::gpu, panel_width, 1), qr_options(QrMode::gpu, panel_width, 0)};
}

template <class T>
void check_qr_on(basalt::Runtime& runtime, const Dense<T>& a, const QrShape& shape) {
    for (const basalt::QrOptions& options : gpu_variants(shape.panel_width)) {
        const Watchdog watchdog;
        INFO(shape.m << " x " << shape.n << ", tiles " << shape.tile.height << " x " << shape.tile.width
                     << ", panels of " << shape.panel_width << ", " << basalt::name_of(options.mode) << ", lookahead "
                     << options.lookahead << ", " << runtime.gpus() << " GPUs");
        check_qr(a, factor_qr(runtime, a, shape.tile, options));
    }
}

/// Where a NaN or infinity is, tau is NaN from its column on, in every mode.
inline void check_no_numbers(basalt::Runtime& runtime, const QrShape& shape, Index column) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        Dense<double> a = random_dense<double>(shape.m, shape.n, 3);
        a(shape.m - 1, column) = bad;
        for (const basalt::QrOptions& options : gpu_variants(shape.panel_width)) {
            const Watchdog watchdog;
            INFO(bad << ", " << basalt::name_of(options.mode) << ", lookahead " << options.lookahead);
            const QrResult<double> f = factor_qr(runtime, a, shape.tile, options);
            for (Index k = 0; k < std::ssize(f.tau); ++k)
                CHECK(std::isnan(f.tau[static_cast<std::size_t>(k)]) == (k >= column));
        }
    }
}

}  // namespace basalt_tests
