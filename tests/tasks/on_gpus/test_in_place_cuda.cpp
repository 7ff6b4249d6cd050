// Arrays in the memory of real GPUs, factored in place.
#include <memory>

#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/tasks/on_gpus/in_place_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// In the memory of the process's first GPU.
struct CudaArrays {
    template <class T>
    static std::unique_ptr<CudaKernels::Memory<T>> make(Runtime&, const std::vector<T>& values) {
        static const auto devices = detail::make_cuda_devices(1);
        static CudaKernels kernels(*devices.front());
        devices.front()->attach_thread();
        return std::make_unique<CudaKernels::Memory<T>>(kernels, values);
    }
};

GpuMachine machine(int gpus) { return {.gpus = gpus, .workers = 4, .emulated = false}; }

}  // namespace

TEMPLATE_TEST_CASE("an array on a real GPU is the same after it was wrapped", "[cuda]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const InPlaceShape& shape :
         {InPlaceShape{1, 1, 1, 1}, {500, 600, 500, 128}, {500, 611, 513, 200}, {30, 400, 3000, 64}}) {
        const Watchdog watchdog;
        check_round_trip<TestType, CudaArrays>(machine(1), shape);
    }
}

TEST_CASE("an array on a real GPU is factored in place", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const InPlaceShape& shape :
         {InPlaceShape{1200, 1200, 1200, 256}, {1100, 900, 1111, 256}, {900, 1100, 1024, 192}}) {
        for (int gpus = 1; gpus <= gpus_here(); gpus *= 2) {
            const Watchdog watchdog;
            check_factors_in_place<double, CudaArrays>(machine(gpus), shape, gpu_alone(128));
            check_factors_in_place<double, CudaArrays>(machine(gpus), shape, hybrid(128));
        }
        check_factors_in_place<float, CudaArrays>(machine(1), shape, gpu_alone(64));
    }
}

TEST_CASE("a matrix that is factored in place on a real GPU takes one tile column more", "[cuda]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    check_memory_in_place<CudaArrays>(machine(1), {3000, 3000, 3000, 256}, gpu_alone(128));
}
