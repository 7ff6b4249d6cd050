// The line that shows progress, on terminals of any width.
#include <string>

#include "io/files/progress_line.hpp"
#include "tests/common/catch.hpp"

using basalt::progress_line;
using basalt::RunProgress;

TEST_CASE("a wide terminal has the bar, the rate and the time left") {
    CHECK(progress_line({4e9, 10e9, 2e9}, 80) == "[############..................] 40 %, 2.0 Gflop/s, about 3 s left");
    CHECK(progress_line({10e9, 10e9, 2e9}, 80) ==
          "[##############################] 100 %, 2.0 Gflop/s, about 0 s left");
}

TEST_CASE("a narrow terminal has a short bar and fewer words") {
    CHECK(progress_line({4e9, 10e9, 2e9}, 40) == "[####......] 40 %, 2.0 Gflop/s, 3 s left");
    CHECK(progress_line({4e9, 10e9, 2e9}, 30) == "[#####........] 40 %, 3 s left");
    CHECK(progress_line({4e9, 10e9, 2e9}, 12) == "[##...] 40 %");
    CHECK(progress_line({4e9, 10e9, 2e9}, 9) == "40 %");
}

TEST_CASE("no line is longer than its terminal is wide") {
    for (const double total : {1.0, 1e9, 1e18}) {
        for (const double rate : {1e-3, 1e9, 1e15}) {
            for (const double share : {0.0, 0.31, 1.0, 1.5}) {
                for (int columns = 0; columns <= 100; ++columns) {
                    const std::string line = progress_line({share * total, total, rate}, columns);
                    INFO(columns << ": " << line);
                    CHECK(static_cast<int>(line.size()) <= columns);
                }
            }
        }
    }
}
