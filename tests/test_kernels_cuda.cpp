// The GPU kernels against plain loops: the cases that test_device_kernels.cpp runs for their CPU twins, and
// larger ones, tagged [large], which compute-sanitizer would take too long for.

#include <memory>
#include <optional>

#include "tests/cuda_kernels.hpp"
#include "tests/device_kernel_cases.hpp"

using namespace basalt_tests;

namespace {

/// The first GPU; nothing where there is none.
class Gpu {
  public:
    Gpu() : devices_(basalt::detail::make_cuda_devices(1)) {
        if (!devices_.empty()) kernels_.emplace(*devices_.front());
    }
    bool present() const { return kernels_.has_value(); }
    CudaKernels& kernels() { return *kernels_; }

  private:
    std::vector<std::unique_ptr<basalt::detail::Device>> devices_;
    std::optional<CudaKernels> kernels_;
};

constexpr const char* no_gpu = "no GPU";

}  // namespace

TEST_CASE("interchanges of a panel become a permutation of few rows", "[cuda]") {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_row_moves(gpu.kernels(),
                    {{0, 0}, {1, 1}, {5, 5}, {7, 3}, {100, 64}, {64, 64}, {513, 512}, {3000, 1100}});
}

TEMPLATE_TEST_CASE("rows exchanged out of place are those that interchanges leave", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_row_exchange<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("the interchanges of several panels are applied as one permutation", "[cuda]", float,
                   double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_row_permutation<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("a unit triangle is inverted and its inverse measured", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_triangle_inverse<TestType>(gpu.kernels(), {0, 1, 2, 7, 8, 33, 63, 64, 65, 200, 300});
}

TEMPLATE_TEST_CASE("the norms of an inverse that holds a NaN are NaN", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_inverse_of_a_triangle_with_a_nan<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("the inverse and substitution solve for the same rows of U", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_solves<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("one update covers a group of tile columns", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_update<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("groups of tile columns are copied and nothing else is written", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_copies<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("dealt tile columns are packed with their padding and come back", "[cuda]", float,
                   double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_conversion<TestType>(gpu.kernels());
    check_conversion_one_place_ahead<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("a matrix becomes tile columns in its own memory and comes back", "[cuda]", float,
                   double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_conversion_in_place<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("tiles change their order of elements and change it back", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_reordering<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("generators on a device give the matrices of the host", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_generators<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("norms on a device are those of plain loops", "[cuda]", float, double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_norms<TestType>(gpu.kernels());
    check_that_padding_has_no_norm<TestType>(gpu.kernels());
}

TEMPLATE_TEST_CASE("norms on a device neither overflow nor underflow, and propagate NaN", "[cuda]", float,
                   double) {
    Gpu gpu;
    if (!gpu.present()) SKIP(no_gpu);
    check_norms_of_extreme_elements<TestType>(gpu.kernels());
}
