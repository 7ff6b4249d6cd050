#include "tests/common/real_gpus.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/on_gpus/solve_on_gpus_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEMPLATE_TEST_CASE("factors on real GPUs are solved with where they are", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    Runtime runtime;
    for (const FactorMode mode : {FactorMode::gpu, FactorMode::hybrid}) {
        for (const SolveShape& shape : {SolveShape{1, 1, {8, 8}, {8, 8}},
                                        {333, 1, {32, 64}, {32, 1}},
                                        {1000, 3, {128, 256}, {128, 2}},
                                        {3000, 700, {512, 512}, {512, 512}}}) {
            check_solves_on_gpus<TestType>(runtime, mode, shape);
            if (shape.n <= 1000) check_reflections_on_gpus<TestType>(runtime, mode, shape);
        }
    }
}
