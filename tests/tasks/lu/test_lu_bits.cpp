// LU: which bits options and the number of workers may change.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

TEMPLATE_TEST_CASE("equal input, options and workers give equal bits", "[lu]", float, double) {
    using T = TestType;
    const Dense<T> a = random_dense<T>(300, 280, 12);
    for (const int workers : {1, 2, 8}) {
        std::optional<Factored<T>> first;
        for (const std::string& scheduler : scheduler_names()) {
            Config config;
            config.workers = workers;
            config.scheduler = scheduler;
            Runtime rt(config);
            for (int run = 0; run < 5; ++run) {
                const Factored<T> f = factor(rt, a, {{64, 48}, {.panel_width = 20, .panel_threads = workers}});
                if (!first) first = f;
                CHECK(f.lu.values == first->lu.values);
                CHECK(f.pivots == first->pivots);
            }
        }
    }
}

TEST_CASE("lookahead changes the order of work and no bit of the result", "[lu]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(200, 200, 13);
    const Factored<double> expected = factor(rt, a, {{nb, nb}, {.lookahead = 0}});
    for (const std::optional<int> lookahead :
         {std::optional<int>(), std::optional(1), std::optional(3), std::optional(1000000)}) {
        CHECK(factor(rt, a, {{nb, nb}, {.lookahead = lookahead}}).lu.values == expected.lu.values);
    }
}

TEMPLATE_TEST_CASE("updates of several panels at once change no bit of the result", "[lu]", float, double) {
    using T = TestType;
    for (const auto& [m, n] : {std::array<Index, 2>{200, 200}, {300, 130}, {130, 300}, {257, 255}}) {
        const Dense<T> a = random_dense<T>(m, n, 30);
        for (const Layout& layout : layouts) {
            Runtime one_by_one(with_depth(2, {.columns = 1, .left_a_column = 1}));
            const Factored<T> expected = factor(one_by_one, a, layout);
            check_factors(a, expected);
            for (const CoreDepth depth : {CoreDepth{64, 1}, {100, 2}, {1000, 1}}) {
                for (const int workers : {1, 3}) {
                    INFO(m << " x " << n << ", " << text(layout) << ", depth " << depth.columns << ", "
                           << depth.left_a_column << " left a column, " << workers << " workers");
                    Runtime rt(with_depth(workers, depth));
                    const Factored<T> f = factor(rt, a, layout);
                    CHECK(f.pivots == expected.pivots);
                    CHECK(f.lu.values == expected.lu.values);
                }
            }
        }
    }
}

TEST_CASE("the updates of a block of panels are one task a tile", "[lu]") {
    const auto updates = [](CoreDepth depth) {
        Runtime rt(with_depth(2, depth));
        const Dense<double> a = random_dense<double>(6 * nb, 6 * nb, 31);
        Matrix<double> tiles = to_tiles(rt, a, {nb, nb});
        rt.wait();
        rt.start_trace();
        lu_factor(rt, tiles, {.panel_width = nb});
        rt.wait();
        const Trace trace = rt.take_trace();
        return std::count_if(trace.events.begin(), trace.events.end(),
                             [](const TraceEvent& event) { return event.name == "update"; });
    };
    CHECK(updates({.columns = 1, .left_a_column = 1}) == 25 + 16 + 9 + 4 + 1);
    // two panels together: inside the block 5, below and right of it 4 x 4; then 3 and 2 x 2; then the last ones
    CHECK(updates({.columns = 2 * nb, .left_a_column = 1}) == 5 + 16 + 3 + 4 + 1);
}

TEST_CASE("without left interchanges U is the same and L as each panel left it", "[lu]") {
    Runtime rt(with_depth(2, {.columns = 1, .left_a_column = 1}));
    const Index n = 100;
    const Dense<double> a = random_dense<double>(n, n, 14);
    const Factored<double> with = factor(rt, a, {{nb, nb}, {.panel_width = 8}});
    Factored<double> without = factor(rt, a, {{nb, nb}, {.panel_width = 8, .left_interchanges = false}});
    CHECK(without.pivots == with.pivots);
    CHECK(without.lu.values != with.lu.values);
    // LAPACK's arrangement: columns left of a panel follow its interchanges
    for (Index k = 0; k < n; ++k) {
        const Index row = without.pivots[static_cast<std::size_t>(k)] - 1;
        for (Index j = 0; j < k / 8 * 8; ++j) std::swap(without.lu(k, j), without.lu(row, j));
    }
    CHECK(without.lu.values == with.lu.values);
}
