// What LAPACK's ABI keeps of an array that GPUs write to.
#include <optional>
#include <stdexcept>
#include <vector>

#include "lapack/engine/kept_array.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"

using namespace basalt;
using namespace basalt_tests;

TEST_CASE("where writing fails the array is as it was, whatever its order and triangle") {
    Config config;
    config.workers = 2;
    config.gpus = 0;
    Runtime runtime(config);
    for (const bool by_columns : {false, true}) {
        for (const std::optional<Triangle> triangle :
             {std::optional<Triangle>(), std::optional(Triangle::lower), std::optional(Triangle::upper)}) {
            Dense<double> a = random_dense<double>(150, 150, 3, 2);
            const Dense<double> before = a;
            const View<double> view = by_columns ? a.view() : View<double>::row_major(a.values.data(), a.m, a.n, a.ld);
            lapack::KeptArray<double> kept(runtime, view, Place::any(), triangle);
            runtime.wait();
            const auto write = [&] {
                for (Index j = 0; j < view.cols(); ++j) {
                    for (Index i = 0; i < view.rows(); ++i) {
                        if (triangle == Triangle::lower ? i >= j : triangle == Triangle::upper ? i <= j : true)
                            view(i, j) = 7;
                    }
                }
                throw std::runtime_error("lost");
            };
            CHECK_THROWS_AS(kept.overwrite(write), std::runtime_error);
            CHECK(a.values == before.values);
        }
    }
}

TEST_CASE("of an array that cores write to nothing is kept") {
    Config config;
    config.workers = 1;
    config.gpus = 0;
    Runtime runtime(config);
    std::vector<double> one{1};
    lapack::KeptArray<double> kept(runtime, View<double>::column_major(one.data(), 1, 1, 1), Place::cpu());
    runtime.wait();
    CHECK_THROWS_AS(kept.overwrite([&] {
        one[0] = 2;
        throw std::runtime_error("lost");
    }),
                    std::runtime_error);
    CHECK(one[0] == 2);
}
