// The Cholesky kernels of a GPU against plain loops, and Cholesky in the modes hybrid and gpu on the GPUs there are.
// Cases tagged [large] are those that compute-sanitizer would take too long for.

#include "base/tuning_fields.hpp"
#include "kernels/cuda/cholesky/plan.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cholesky_kernel_cases.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/tasks/cholesky/gpu_cholesky_cases.hpp"
#include "tests/tasks/on_gpus/gpu_tables.hpp"

using namespace basalt;
using namespace basalt_tests;
using cuda_kernels::CholeskyPanelDesign;
using cuda_kernels::CholeskyPanelPlan;

namespace {

class CholeskyKernels : public CudaKernels {
  public:
    using CudaKernels::CudaKernels;

    CholeskyPanelPlan plan;

    template <class T>
    static std::size_t workspace(Index rows, Index cols) {
        return cuda_kernels::cholesky_workspace<T>(rows, cols);
    }
};

/// The kernels of the first GPU; nullptr where there is none.
CholeskyKernels* cholesky_gpu() {
    static const auto devices = basalt::detail::make_cuda_devices(1);
    static const auto kernels = devices.empty() ? nullptr : std::make_unique<CholeskyKernels>(*devices.front());
    return kernels.get();
}

/// Every design, and every leaf of the recursive one.
std::vector<CholeskyPanelPlan> plans() {
    std::vector<CholeskyPanelPlan> all{{CholeskyPanelDesign::fused}, {CholeskyPanelDesign::fused_wide}};
    for (const int columns : tuning_limits::cholesky_leaf_columns) {
        for (const int tile : tuning_limits::cholesky_leaf_tiles) {
            all.push_back({CholeskyPanelDesign::recursive, {columns, tile}});
        }
    }
    return all;
}

template <class Check>
void for_each_plan(const Check& check) {
    CholeskyKernels& kernels = *cholesky_gpu();
    for (const CholeskyPanelPlan& plan : plans()) {
        kernels.plan = plan;
        INFO("design " << static_cast<int>(plan.design) << ", leaves of " << plan.leaf.columns << ", tiles of "
                       << plan.leaf.tile);
        check(kernels);
    }
}

/// An array in the first GPU's memory.
template <class T>
auto gpu_array(const std::vector<T>& values) {
    return CudaKernels::Memory<T>(*cholesky_gpu(), values);
}

GpuMachine machine(int gpus, std::size_t memory = 0) {
    return {.gpus = gpus, .workers = 4, .memory = memory, .emulated = false};
}

/// Numbers of GPUs to test with.
std::vector<int> gpu_counts() {
    std::vector<int> counts;
    for (const int count : {1, 2, 4}) {
        if (count <= gpus_here()) counts.push_back(count);
    }
    return counts;
}

}  // namespace

TEMPLATE_TEST_CASE("a Cholesky panel on a GPU is as accurate as LAPACK demands", "[cuda]", float, double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) {
        check_panels<TestType>(
            kernels, {{1, 1}, {5, 3}, {31, 31}, {33, 32}, {70, 33}, {128, 128}, {129, 128}, {200, 129}, {300, 256}});
    });
}

TEST_CASE("a Cholesky panel on a GPU with products in TF32 is as accurate as those", "[cuda]") {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) { check_panels_in_tf32(kernels); });
}

TEMPLATE_TEST_CASE("ill-conditioned Cholesky panels on a GPU keep their accuracy", "[cuda]", float, double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) {
        check_ill_conditioned_panels<TestType>(kernels);
        check_panels_by_substitution<TestType>(kernels);
    });
}

TEMPLATE_TEST_CASE("a Cholesky panel on a GPU names the first pivot that is not positive", "[cuda]", float, double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) { check_panel_info<TestType>(kernels); });
}

TEMPLATE_TEST_CASE("a Cholesky panel on a GPU takes denormal and infinite pivots as LAPACK does", "[cuda]", float,
                   double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) { check_extreme_panels<TestType>(kernels); });
}

TEMPLATE_TEST_CASE("the same Cholesky panel gives the same bits on a GPU", "[cuda]", float, double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) { check_repeated_panel<TestType>(kernels, 700, 300); });
}

TEMPLATE_TEST_CASE("products, bands and triangles of Cholesky on a GPU are those of plain loops", "[cuda]", float,
                   double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    check_transposed_products<TestType>(*cholesky_gpu());
    check_band<TestType>(*cholesky_gpu());
    check_triangle_copies<TestType>(*cholesky_gpu());
}

TEMPLATE_TEST_CASE("wide and tall Cholesky panels on a GPU are as accurate as LAPACK demands", "[cuda][large]", float,
                   double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for_each_plan([](CholeskyKernels& kernels) {
        check_panels<TestType>(kernels, {{1500, 512}, {1100, 1024}, {3000, 200}});
    });
}

TEMPLATE_TEST_CASE("a whole matrix in one kernel is accurate and gives the same bits each time", "[cuda][large]", float,
                   double) {
    if (cholesky_gpu() == nullptr) SKIP(no_gpu);
    for (const auto design : {CholeskyPanelDesign::fused, CholeskyPanelDesign::fused_wide}) {
        cholesky_gpu()->plan = {design};
        check_repeated_panel<TestType>(*cholesky_gpu(), 2100, 2100);
        check_panel<TestType>(*cholesky_gpu(), generated<TestType>("spd", 1700, 1700, 3), 1700, 0);
    }
}

TEST_CASE("Cholesky on real GPUs has LAPACK's residual at ragged sizes", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : gpu_counts()) {
        for (const CholeskyShape& shape : {CholeskyShape{1, {8, 8}, 4},
                                           {97, {16, 32}, 16},
                                           {700, {128, 256}, 64},
                                           {1000, {256, 512}, 128},
                                           {1300, {512, 2048}, 512}}) {
            check_on_gpus<double>(machine(gpus), shape, 1);
            check_on_gpus<double>(machine(gpus), shape, 0);
            check_on_gpus<float>(machine(gpus), shape);
        }
    }
}

TEST_CASE("Cholesky on a real GPU has the leaves of the tuning table", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    constexpr Index n = 900;
    const Dense<double> a = spd_dense<double>(Triangle::lower, n, 3);
    std::vector<std::vector<double>> factors;
    for (const int tile : tuning_limits::cholesky_leaf_tiles) {
        const auto tables = gpu_tables_with([&](basalt::GpuTuning& gpu) { gpu.cholesky.leaf = {64, tile}; });
        Config config = machine(1).config();
        config.tuning = tables;
        Runtime runtime(config);
        const auto result = factor(runtime, Triangle::lower, a, {128, 512}, on_gpus(FactorMode::gpu, 256));
        check_cholesky(Triangle::lower, a, result);
        factors.push_back(result.factor.values);
    }
    CHECK(factors.front() != factors.back());
}

TEST_CASE("products by slices keep the residual of single precision", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    for (const int gpus : gpu_counts()) {
        Runtime runtime(machine(gpus).config());
        for (const Triangle triangle : both_triangles) {
            CholeskyOptions options = on_gpus(FactorMode::gpu, 512);
            options.products = ProductPrecision::split_bf16;
            options.narrow_at_end = false;
            const Dense<float> a = spd_dense<float>(triangle, 2100, 6);
            check_cholesky(triangle, a, factor(runtime, triangle, a, {512, 1024}, options));
        }
    }
}

TEST_CASE("a positive definite matrix larger than the memory cap is factored on real GPUs in column groups",
          "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    // 2000 columns of 2048 doubles in tile columns of 128: 2.1 MB each, 33 MB in all
    for (const int gpus : gpu_counts()) {
        for (const std::size_t memory : {12'000'000, 20'000'000}) {
            check_on_gpus<double>(machine(gpus, memory), {2000, {128, 128}, 64});
        }
    }
}

TEMPLATE_TEST_CASE("INFO on real GPUs is that of the cores", "[cuda][large]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(gpu_counts().back()).config());
    for (const CholeskyOptions& options : with_gpu_panels(310, 64)) {
        INFO(text(options));
        check_info<TestType>(runtime, 310, {128, 128}, options, {0, 63, 64, 130, 200, 309});
    }
}

TEMPLATE_TEST_CASE("ill-conditioned matrices keep LAPACK's residual on real GPUs", "[cuda][large]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(gpu_counts().back()).config());
    for (const CholeskyOptions& options : with_gpu_panels(300, 128))
        check_ill_conditioned<TestType>(runtime, 300, {128, 128}, options);
}

TEST_CASE("a triangle in a real GPU's memory is loaded, factored and stored there", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(gpu_counts().back()).config());
    for (const CholeskyShape& shape : {CholeskyShape{1, {8, 8}, 8}, {300, {128, 128}, 64}, {777, {256, 1024}, 256}}) {
        check_arrays_on_gpu<double>(runtime, shape, gpu_array<double>);
        check_arrays_on_gpu<float>(runtime, shape, gpu_array<float>);
    }
}

TEST_CASE("repeated Cholesky on real GPUs gives the same bits", "[cuda][large]") {
    if (gpus_here() == 0) SKIP(no_gpu);
    Runtime runtime(machine(gpu_counts().back()).config());
    const Dense<double> a = symmetric(Triangle::lower, spd_dense<double>(Triangle::lower, 1200, 11));
    for (const CholeskyOptions& options : with_gpu_panels(1200, 256)) {
        const auto first = factor(runtime, Triangle::lower, a, {128, 512}, options);
        for (int i = 0; i < 5; ++i) {
            CHECK(factor(runtime, Triangle::lower, a, {128, 512}, options).factor.values == first.factor.values);
        }
    }
}
