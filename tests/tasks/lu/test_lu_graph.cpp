#include <array>
#include <atomic>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("LU options out of range are refused by name", "[lu]") {
    Runtime rt(two_workers());
    Matrix<double> a = to_tiles(rt, random_dense<double>(40, 40, 15), {16, 16});
    const auto refused = [&](const LuOptions& options, const std::string& name) {
        try {
            lu_factor(rt, a, options);
        } catch (const UsageError& error) {
            return std::string(error.what()).find(name) != std::string::npos;
        }
        return false;
    };
    CHECK(refused({.panel_width = -1}, "panel_width = -1"));
    CHECK(refused({.panel_threads = -2}, "panel_threads = -2"));
    CHECK(refused({.lookahead = -2}, "lookahead = -2"));
    Runtime other(two_workers());
    CHECK_THROWS_AS(lu_factor(other, a), UsageError);
    Matrix<double> none;
    CHECK_THROWS_AS(lu_factor(rt, none), UsageError);
}

TEST_CASE("extreme options in range are clamped to what the matrix and the machine have", "[lu]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(90, 90, 16);
    check_factors(a,
                  factor(rt, a, {{16, 16}, {.panel_width = std::numeric_limits<Index>::max(), .panel_threads = 1000}}));
    check_factors(a, factor(rt, a, {{16, 16}, {.panel_width = 1, .lookahead = std::numeric_limits<int>::max()}}));
    check_factors(a, factor(rt, a, {{1, 1}, {}}));
}

TEST_CASE("a handle without a factorization is refused", "[lu]") {
    const LuFactors<double> none;
    CHECK_THROWS_AS(none.rows(), UsageError);
    CHECK_THROWS_AS(none.cols(), UsageError);
    CHECK_THROWS_AS(none.info(), UsageError);
    CHECK_THROWS_AS(none.pivots(), UsageError);
}

TEST_CASE("user tasks read and write the tiles between factorizations in program order", "[lu]") {
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Index n = 130;
        const Dense<double> a = random_dense<double>(n, n, 17);
        Matrix<double> tiles(rt, n, n, {nb, nb});
        tiles.load(View<const double>::column_major(a.values.data(), n, n, n));
        // before: the sum of each tile of A; after: of U's diagonal tiles
        double before = 0;
        std::vector<double> diagonal(static_cast<std::size_t>(tiles.tile_cols()));
        Array<double> sum = Array<double>::wrap(rt, &before, 1);
        for (Index j = 0; j < tiles.tile_cols(); ++j) {
            for (Index i = 0; i < tiles.tile_rows(); ++i) {
                rt.submit({.name = "sum"}, read(tiles.tile(i, j)), readwrite(sum),
                          [](View<const double> tile, View<double> total) {
                              for (Index r = 0; r < tile.rows(); ++r) {
                                  for (Index c = 0; c < tile.cols(); ++c) total[0] += tile(r, c);
                              }
                          });
            }
        }
        for (Index j = 0; j < tiles.tile_cols(); ++j) {
            rt.submit({.name = "scale"}, readwrite(tiles.column(j)), [](View<double> column) {
                for (Index r = 0; r < column.rows(); ++r) {
                    for (Index c = 0; c < column.cols(); ++c) column(r, c) *= 2;
                }
            });
        }
        const LuFactors<double> lu = lu_factor(rt, tiles);
        for (Index k = 0; k < tiles.tile_cols(); ++k) {
            rt.submit({.name = "diagonal"}, read(tiles.tile(k, k)), [&diagonal, k](View<const double> tile) {
                for (Index r = 0; r < tile.rows(); ++r) diagonal[static_cast<std::size_t>(k)] += tile(r, r);
            });
        }
        rt.wait();
        double expected = 0;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) expected += a(i, j);
        }
        CHECK(before == Approx(expected).margin(1e-10));
        Dense<double> doubled = a;
        for (double& x : doubled.values) x *= 2;
        const Dense<double> factors = from_tiles(rt, tiles);
        check_factors(doubled, {factors, lu.pivots(), lu.info()});
        for (Index k = 0; k < tiles.tile_cols(); ++k) {
            double trace = 0;
            for (Index i = k * nb; i < std::min(n, (k + 1) * nb); ++i) trace += factors(i, i);
            CHECK(diagonal[static_cast<std::size_t>(k)] == Approx(trace));
        }
    }
}

TEST_CASE("factors may be dropped and matrices destroyed while their tasks run", "[lu]") {
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Dense<double> a = random_dense<double>(200, 200, 18);
        for (int round = 0; round < 5; ++round) {
            Matrix<double> kept = to_tiles(rt, a, {nb, nb});
            lu_factor(rt, kept, {.panel_width = 12});  // the handle is dropped at once
            std::optional<LuFactors<double>> outlives;
            {
                Matrix<double> dropped = to_tiles(rt, a, {nb, nb});
                if (round % 2 == 0) {
                    outlives = lu_factor(rt, dropped, {.panel_width = 12});
                } else {
                    lu_factor(rt, dropped, {.panel_width = 12});
                }
            }
            const Dense<double> factors = from_tiles(rt, kept);
            if (outlives) {
                CHECK(outlives->info() == 0);
                check_factors(a, {factors, outlives->pivots(), 0});
            }
        }
    }
}

TEST_CASE("several factorizations in flight at once do not disturb one another", "[lu]") {
    Runtime rt(two_workers());
    std::vector<Dense<double>> inputs;
    std::vector<Matrix<double>> tiles;
    std::vector<LuFactors<double>> factors;
    for (unsigned k = 0; k < 6; ++k) inputs.push_back(random_dense<double>(60 + 20 * k, 140 - 10 * k, 19 + k));
    for (const Dense<double>& a : inputs) tiles.push_back(to_tiles(rt, a, {nb, nb}));
    for (Matrix<double>& a : tiles) factors.push_back(lu_factor(rt, a));
    rt.wait();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        check_factors(inputs[k], {from_tiles(rt, tiles[k]), factors[k].pivots(), factors[k].info()});
    }
}

TEST_CASE("several threads factor matrices of their own on one runtime", "[lu]") {
    Runtime rt(two_workers());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&rt, &wrong, t] {
            const Dense<double> a = random_dense<double>(120, 120, 30 + t);
            for (int round = 0; round < 4; ++round) {
                const Factored<double> f = factor(rt, a, layouts[2]);
                if (f.info != 0 || !(factor_ratio(a, f.lu, f.pivots) < 30)) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("a task may factor a matrix of its own", "[lu]") {
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Dense<double> a = random_dense<double>(130, 130, 21);
        std::array<std::optional<Factored<double>>, 3> results;
        for (auto& result : results) {
            rt.submit({.name = "outer"}, [&rt, &a, &result] { result = factor(rt, a, layouts[1]); });
        }
        rt.wait();
        for (const auto& result : results) check_factors(a, *result);
    }
}

TEST_CASE("a runtime factors correctly after a graph that failed and one that was cancelled", "[lu]") {
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Dense<double> a = random_dense<double>(150, 150, 22);
        Matrix<double> tiles = to_tiles(rt, a, {nb, nb});
        lu_factor(rt, tiles);
        rt.submit({.name = "broken"}, readwrite(tiles.tile(0, 2)), [](View<double>) { throw 1; });
        lu_factor(rt, tiles);
        CHECK_THROWS_AS(rt.wait(), TaskError);
        const LuFactors<double> unfounded = lu_factor(rt, tiles);
        CHECK_THROWS_AS(unfounded.pivots(), DataError);
        CHECK_THROWS_AS(rt.wait(), DataError);
        tiles.load(View<const double>::column_major(a.values.data(), a.m, a.n, a.ld));
        rt.wait();
        Gate gate;  // keeps the graph in flight until it is cancelled
        rt.submit({}, readwrite(tiles.tile(0, 0)), [&gate](View<double>) { gate.pass(); });
        gate.await_arrival();
        const LuFactors<double> dropped = lu_factor(rt, tiles);
        rt.cancel();
        gate.open();
        CHECK_THROWS_AS(dropped.pivots(), DataError);
        CHECK_THROWS_AS(rt.wait(), Cancelled);
        check_factors(a, factor(rt, a, layouts[0]));
        // the memory of the cancelled graph is valid: its matrix can be used again
        tiles.load(View<const double>::column_major(a.values.data(), a.m, a.n, a.ld));
        const LuFactors<double> lu = lu_factor(rt, tiles);
        check_factors(a, {from_tiles(rt, tiles), lu.pivots(), lu.info()});
    }
}

TEST_CASE("handles dropped in flight free nothing that tasks use", "[lu][sanitize]") {
    Runtime rt(two_workers());
    const Dense<double> a = generated<double>("integer", 90, 90);
    for (int round = 0; round < 10; ++round) {
        Matrix<double> tiles = to_tiles(rt, a, {16, 16});
        lu_factor(rt, tiles);
        if (round % 2 == 0) tiles = Matrix<double>();
    }
    CHECK(factor(rt, a, layouts[0]).info == 0);
}

TEST_CASE("a factorization in one graph is not disturbed by errors in another", "[sanitize]") {
    const Watchdog watchdog("lu and errors");
    Runtime runtime(Setting{"priority", 4}.config());
    std::atomic<bool> stop{false};
    std::thread failing([&] {
        Graph graph(runtime);
        while (!stop) {
            graph.submit({}, [] { throw std::runtime_error("boom"); });
            CHECK_THROWS_AS(graph.wait(), TaskError);
        }
    });
    {
        Graph graph(runtime);
        const SubmitTo here(graph);
        Matrix<double> a(runtime, 200, 200, {32, 32});
        a.fill(make_generator<double>("random", 200, 200, 1));
        const auto factored = lu_factor(runtime, a);
        runtime.wait();
        CHECK(factored.info() == 0);
    }
    stop = true;
    failing.join();
    runtime.wait();
}
