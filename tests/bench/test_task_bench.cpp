// Task Bench's patterns, what its tasks verify, and its metric; no system runs here.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "bench/task_bench/metg.hpp"
#include "bench/task_bench/task_grid.hpp"
#include "bench/task_bench/task_systems.hpp"

using namespace bench;

namespace {

using Columns = std::vector<std::int32_t>;

TaskGrid grid_of(const std::string& pattern, int width, int steps) { return {pattern_of(pattern), width, steps}; }

Columns inputs(const TaskGrid& grid, int step, int column) {
    const auto found = grid.inputs(grid.tasks().at(grid.number(step, column)));
    return {found.begin(), found.end()};
}

/// A curve whose tasks take their iterations in ns and an overhead.
GridCurve curve(const std::string& system, int workers, double overhead_ns) {
    GridCurve made{system, workers};
    for (std::int64_t iterations = 1024; iterations >= 1; iterations /= 2) {
        const double ns = static_cast<double>(iterations) + overhead_ns;
        made.points.push_back({iterations, ns, workers * static_cast<double>(iterations) / ns});
    }
    return made;
}

}  // namespace

TEST_CASE("a pattern has as many tasks and inputs as Task Bench's", "[task_bench]") {
    struct Case {
        std::string pattern;
        std::size_t tasks, inputs;
    };
    const auto expected = GENERATE(values<Case>({{"trivial", 32, 0},
                                                 {"no_comm", 32, 28},
                                                 {"stencil_1d", 32, 70},
                                                 {"fft", 32, 64},
                                                 {"tree", 27, 26},
                                                 {"dom", 20, 31},
                                                 {"nearest", 32, 98},
                                                 {"spread", 32, 112},
                                                 {"all_to_all", 32, 112}}));
    const TaskGrid grid = grid_of(expected.pattern, 4, 8);
    CAPTURE(expected.pattern);
    CHECK(grid.tasks().size() == expected.tasks);
    CHECK(grid.inputs() == expected.inputs);
}

TEST_CASE("a task reads the columns that its pattern names", "[task_bench]") {
    CHECK(inputs(grid_of("stencil_1d", 8, 3), 1, 0) == Columns{0, 1});
    CHECK(inputs(grid_of("stencil_1d", 8, 3), 2, 5) == Columns{4, 5, 6});
    CHECK(inputs(grid_of("fft", 8, 5), 1, 3) == Columns{2, 3, 4});
    CHECK(inputs(grid_of("fft", 8, 5), 3, 3) == Columns{3, 7});
    CHECK(inputs(grid_of("tree", 8, 5), 2, 3) == Columns{1});
    CHECK(inputs(grid_of("nearest", 8, 3), 1, 4) == Columns{2, 3, 4, 5, 6});
    CHECK(inputs(grid_of("spread", 10, 3), 1, 0) == Columns{0, 3, 5, 7, 9});
    CHECK(inputs(grid_of("dom", 4, 8), 6, 2) == Columns{1, 2});
    CHECK(inputs(grid_of("all_to_all", 3, 3), 1, 1) == Columns{0, 1, 2});
}

TEST_CASE("a task of random_nearest reads its own column and some of the nearest", "[task_bench]") {
    const TaskGrid grid = grid_of("random_nearest", 32, 10);
    std::size_t others = 0;
    for (const GridTask& task : grid.tasks()) {
        if (task.step == 0) continue;
        bool own = false;
        for (const std::int32_t column : grid.inputs(task)) {
            own = own || column == task.column;
            others += column == task.column ? 0 : 1;
            CHECK(std::abs(column - task.column) <= 2);
        }
        CHECK(own);
    }
    CHECK(others > 32 * 9 / 2);  // one a task on average
    CHECK(others < 32 * 9 * 2);
}

TEST_CASE("no pattern has another name", "[task_bench]") { CHECK_THROWS_AS(pattern_of("star"), std::invalid_argument); }

TEST_CASE("a task says who wrote its output, and notices inputs of another task", "[task_bench]") {
    const TaskGrid grid = grid_of("stencil_1d", 4, 3);
    const GridTask& task = grid.tasks().at(grid.number(2, 0));
    const Work work(grid, 1);
    std::vector<TaskOutput> before{{2, 0}, {2, 1}};
    TaskOutput output;
    const auto run = [&] {
        work.run(
            task, [&](std::size_t k) { return &before[k]; }, output);
    };
    run();
    CHECK(work.wrong() == 0);
    CHECK(output.steps == 3);
    CHECK(output.column == 0);
    before[1].steps = 1;  // of the step before the one that is due
    run();
    CHECK(work.wrong() == 1);
    before[0].column = 3;
    run();
    CHECK(work.wrong() == 3);
}

TEST_CASE("the METG is linear between the two sizes around half of the best rate", "[task_bench]") {
    std::vector<GridCurve> curves{curve("light", 2, 0), curve("heavy", 2, 24), curve("serial", 1, 4)};
    rate_curves(curves);
    CHECK(curves[0].points.back().efficiency == 1);
    CHECK_FALSE(curves[0].metg_ns);  // never below one half
    REQUIRE(curves[1].metg_ns);
    // 32 of 56 ns above, 16 of 40 ns below; the best rate is that of the light tasks
    const double expected = 40 + (0.5 - 0.4) / (32.0 / 56 - 0.4) * 16;
    CHECK(std::abs(*curves[1].metg_ns - expected) < 1e-9 * expected);
    // one thread is compared with one thread
    CHECK(curves[2].points.front().efficiency == 1);
}
