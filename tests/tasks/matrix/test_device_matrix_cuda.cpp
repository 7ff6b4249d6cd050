// Matrices that live on GPUs, on the GPUs there are.
#include "tests/common/real_gpus.hpp"
#include "tests/tasks/matrix/device_matrix_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

GpuMachine machine(int gpus) { return {.gpus = gpus, .workers = 4, .emulated = false}; }

}  // namespace

TEST_CASE("a system on real GPUs is generated, factored, solved and checked without memory of the host's", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (int gpus = 1; gpus <= gpus_here(); gpus *= 2) {
        const Watchdog watchdog;
        check_system_on_gpus(machine(gpus), 1500, 1, {256, 384}, gpu_alone(128));
        check_system_on_gpus(machine(gpus), 3000, 5, {1024, 512}, gpu_alone(512));
        check_system_on_gpus(machine(gpus), 3000, 1, {512, 512}, hybrid(128));
    }
}

TEMPLATE_TEST_CASE("products with vectors by real GPUs are those of plain loops", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_products<TestType>(machine(gpus_here()), 900, 1300, {128, 160});
    check_products<TestType>(machine(1), 1300, 700, {64, 96});
}
