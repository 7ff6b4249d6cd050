#pragma once

// What the LU tests share: the tiles, options and runtimes they try, and a factorization from array to array.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"
#include "tests/common/shown.hpp"

namespace basalt_tests {

using basalt::Config;
using basalt::LuOptions;
using basalt::Matrix;
using basalt::Runtime;
using basalt::TileShape;

/// Tiles and options of one factorization.
struct Layout {
    TileShape tile;
    LuOptions options;
};

inline std::string text(const Layout& l) {
    return "tile " + std::to_string(l.tile.height) + "x" + std::to_string(l.tile.width) + ", panel " +
           shown(l.options.panel_width) + " by " + shown(l.options.panel_threads);
}

template <class T>
Matrix<T> to_tiles(Runtime& rt, const Dense<T>& a, TileShape tile = {}) {
    return Matrix<T>::from_columns(rt, a.values.data(), a.m, a.n, a.ld, tile);
}

template <class T>
Dense<T> from_tiles(Runtime& rt, const Matrix<T>& a) {
    Dense<T> result(a.rows(), a.cols());
    a.store(result.view());
    rt.wait();
    return result;
}

template <class T>
Factored<T> factor(Runtime& rt, const Dense<T>& a, const Layout& layout = {}) {
    Matrix<T> tiles = to_tiles(rt, a, layout.tile);
    const basalt::LuFactors<T> lu = basalt::lu_factor(rt, tiles, layout.options);
    return {from_tiles(rt, tiles), lu.pivots(), lu.info()};
}

template <class T>
void check_factors(const Dense<T>& a, const Factored<T>& f) {
    CHECK(f.info == 0);
    CHECK(factor_ratio(a, f.lu, f.pivots) < 30);
    CHECK(largest_multiplier(f.lu) <= 1);
}

inline void check_pivots_inside(const std::vector<Index>& pivots, Index m) {
    for (std::size_t k = 0; k < pivots.size(); ++k) {
        REQUIRE(pivots[k] >= static_cast<Index>(k) + 1);
        REQUIRE(pivots[k] <= m);
    }
}

// The tile width and panel width of most layouts below.
inline constexpr Index nb = 32;

/// Panel as wide as the tile, narrower (several panels a tile column, the last one ragged), wider; tiles that
/// are not square; one tile larger than most matrices; the library's choice.
inline const std::array<Layout, 8> layouts{{{{nb, nb}, {.panel_width = nb}},
                                            {{nb, nb}, {.panel_width = 8}},
                                            {{nb, nb}, {.panel_width = 12}},
                                            {{nb, nb}, {.panel_width = 100}},
                                            {{8, nb}, {.panel_width = nb}},
                                            {{96, 16}, {}},
                                            {{512, 512}, {.panel_width = nb}},
                                            {{}, {}}}};

/// One worker, the two of a small machine, and many more than cores, under both policies.
inline std::vector<Config> configurations() {
    std::vector<Config> all;
    for (const int workers : {1, 2, 8}) {
        for (const std::string& scheduler : basalt::scheduler_names()) {
            Config config;
            config.workers = workers;
            config.scheduler = scheduler;
            all.push_back(config);
        }
    }
    return all;
}

inline std::string text(const Config& c) { return std::to_string(c.workers) + " workers, " + c.scheduler; }

/// A configuration whose updates on cores have this blocking.
inline Config with_depth(int workers, basalt::CoreDepth depth) {
    auto tables = std::make_shared<basalt::TuningTables>(basalt::TuningTables::built_in());
    for (basalt::CpuTuning& cpu : tables->cpus) cpu.lu.depth = depth;
    Config config;
    config.workers = workers;
    config.tuning = tables;
    return config;
}

inline Config two_workers() {
    Config config;
    config.workers = 2;
    return config;
}

}  // namespace basalt_tests
