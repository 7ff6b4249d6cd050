// A column-major array on the host that goes to tile columns and back by the GPUs there are.
#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"
#include "tests/tasks/on_gpus/host_columns_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEMPLATE_TEST_CASE("an array on the host goes to the tiles and back by GPUs as by cores, padding included", "[cuda]",
                   float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : {1, 2, 4}) {
        if (gpus > gpus_here()) continue;
        for (const LuShape& shape : {LuShape{1, 1, {16, 16}, 16},
                                     {130, 200, {8, 24}, 24},
                                     {1000, 700, {256, 128}, 64},
                                     {700, 1000, {64, 512}, 64}}) {
            for (const std::size_t memory : {std::size_t{0}, std::size_t{4} << 20}) {
                const Watchdog watchdog;
                const GpuMachine machine{.gpus = gpus, .workers = 4, .memory = memory, .emulated = false};
                Runtime rt(machine.config());
                for (const bool pinned : {false, true}) check_round_trip<TestType>(rt, machine, shape, pinned);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a triangle of an array on the host goes to the tiles and back by GPUs, and nothing else", "[cuda]",
                   float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    const GpuMachine machine{.gpus = 1, .workers = 4, .emulated = false};
    Runtime rt(machine.config());
    for (const LuShape& shape : {LuShape{1, 1, {16, 16}, 16}, {97, 97, {64, 64}, 32}, {1300, 1300, {64, 640}, 64}}) {
        for (const bool pinned : {false, true}) check_triangle<TestType>(rt, machine, shape, pinned);
    }
}

TEMPLATE_TEST_CASE("arrays in a real GPU's memory are loaded, factored and stored by rows and by columns", "[cuda]",
                   float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    const auto devices = basalt::detail::make_cuda_devices(1);
    CudaKernels kernels(*devices.front());
    for (const bool small_parts : {false, true}) {
        const Watchdog watchdog;
        Config config = GpuMachine{.gpus = 1, .workers = 4, .emulated = false}.config();
        if (small_parts) config.tuning = tables_of_small_parts();
        Runtime rt(config);
        for (const LuShape& shape :
             {LuShape{1, 40, {16, 16}, 8}, {150, 150, {192, 192}, 32}, {1000, 700, {64, 512}, 64}}) {
            check_arrays_on_gpu<TestType>(rt, shape, [&](const std::vector<TestType>& values) {
                return CudaKernels::Memory<TestType>(kernels, values);
            });
        }
    }
}

TEST_CASE("hybrid LU of an array on the host gives the same bits however the array comes and goes", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : {1, 2, 4}) {
        if (gpus > gpus_here()) continue;
        for (const LuShape& shape : {LuShape{700, 1000, {128, 256}, 64}, {1500, 1500, {128, 128}, 128}}) {
            for (const std::size_t memory : {std::size_t{0}, std::size_t{12} << 20}) {
                const Watchdog watchdog;
                for (const bool pinned : {false, true}) {
                    check_lu_of_array({.gpus = gpus, .workers = 4, .memory = memory, .emulated = false}, shape, pinned);
                }
            }
        }
    }
}
