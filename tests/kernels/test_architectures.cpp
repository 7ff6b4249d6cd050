// Which kernels a GPU gets that has no clusters, or less shared memory than a Hopper GPU: chosen by its architecture
// before anything is asked of CUDA.

#include <string>
#include <vector>

#include <basalt/tuning.hpp>

#include "base/gpu_architectures.hpp"
#include "kernels/cuda/cholesky/block.hpp"
#include "kernels/cuda/cholesky/fused.hpp"
#include "kernels/cuda/cholesky/leaf.hpp"
#include "kernels/cuda/cholesky/plan.hpp"
#include "kernels/cuda/panel/plan.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;
using namespace basalt::cuda_kernels;
namespace block = basalt::cuda_detail::cholesky;

namespace {

/// The plan for a panel on an emulated GPU of that architecture, whose table and capability decide.
PanelDesign design_on(const std::string& architecture, Index rows) {
    const int capability = capability_of(architecture);
    const auto fits = [&](const PanelPlan& plan) { return capability >= lowest_capability(plan.design); };
    return panel_plan(rows, TuningTables::built_in().for_gpu(architecture).panels, fits).design;
}

/// What CUDA lets a block have (CUDA C++ Programming Guide, technical specifications by compute capability).
std::size_t shared_bytes(const std::string& architecture) {
    if (architecture == "sm_80") return 163 * 1024;
    if (architecture == "sm_86" || architecture == "sm_89" || architecture == "sm_120") return 99 * 1024;
    return 227 * 1024;
}

template <class T>
std::size_t leaf_bytes(const GpuCholeskyLeaf& leaf) {
    const auto larger = [](std::size_t a, std::size_t b) { return a > b ? a : b; };
    const auto of = [&]<class Shape>(Shape) {
        return larger(sizeof(block::LeafMemory<T, Shape>), sizeof(block::RowsMemory<T, Shape>));
    };
    if (leaf.columns == 64) return leaf.tile == 16 ? of(block::LeafShape<64, 16>()) : of(block::LeafShape<64, 32>());
    return leaf.tile == 16 ? of(block::LeafShape<128, 16>()) : of(block::LeafShape<128, 32>());
}

const std::vector<std::string> architectures{"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};

}  // namespace

TEST_CASE("panels of LU go by kernels that the architecture has") {
    for (const Index rows : {1, 1000, 16384, 100000, 10'000'000}) {
        CHECK(design_on("sm_80", rows) == PanelDesign::steps);
        CHECK(design_on("sm_86", rows) == PanelDesign::steps);
        CHECK(design_on("sm_89", rows) == PanelDesign::steps);
    }
    CHECK(design_on("sm_90", 16384) == PanelDesign::cluster);
    CHECK(design_on("sm_90", 16385) == PanelDesign::grid);
    CHECK(design_on("sm_100", 1000) == PanelDesign::cluster);
    CHECK(design_on("sm_120", 1000) == PanelDesign::grid);  // CUDA then refuses its shared memory
}

TEST_CASE("the kernel for the next panel's columns, which needs clusters, is left out before sm_90") {
    for (const std::string& architecture : architectures) {
        INFO(architecture);
        const bool wanted = TuningTables::built_in().for_gpu(architecture).lu.leading_rows > 0;
        CHECK((!wanted || capability_of(architecture) >= 90));
    }
}

TEMPLATE_TEST_CASE("Cholesky's kernels take no more shared memory than a block of the architecture has", "", float,
                   double) {
    using T = TestType;
    for (const std::string& architecture : architectures) {
        INFO(architecture);
        const GpuTuning::Cholesky& tuning = TuningTables::built_in().for_gpu(architecture).cholesky;
        CHECK(leaf_bytes<T>(tuning.leaf) <= shared_bytes(architecture));
        if (tuning.fused_order == 0) continue;  // that kernel is not used
        for (const Index n : {Index{1}, tuning.fused_order}) {
            const bool wide = cholesky_square_plan(tuning, n).design == CholeskyPanelDesign::fused_wide;
            CHECK((wide ? sizeof(block::FusedMemory<T, block::wide_stage>)
                        : sizeof(block::FusedMemory<T, block::narrow_stage>)) <= shared_bytes(architecture));
        }
    }
}

TEST_CASE("machine code runs on GPUs of the same major capability, PTX on all newer ones") {
    const std::vector<std::string> usual{"sm_80", "sm_90", "compute_90"};
    for (const int capability : {80, 86, 89, 90, 100, 103, 120}) CHECK(has_code_for(usual, capability));
    for (const int capability : {60, 75}) CHECK_FALSE(has_code_for(usual, capability));
    CHECK_FALSE(has_code_for({"sm_90"}, 80));
    CHECK_FALSE(has_code_for({"sm_90"}, 100));
    CHECK_FALSE(has_code_for({"sm_86"}, 80));
    CHECK_FALSE(has_code_for({}, 90));
    CHECK(capability_of("sm_90") == 90);
    CHECK(capability_of("compute_120") == 120);
    CHECK(capability_of("avx512") == 0);
    CHECK(capability_of("sm_90a") == 0);
}

TEST_CASE("a GPU that the build has no code for is refused with the way out") {
    const std::string why = why_no_code_for("sm_50");
    CHECK(why.find("no GPU kernels for sm_50") != std::string::npos);
    CHECK(why.find("-Dgpu_architectures=sm_50") != std::string::npos);
    for (const std::string& name : built_gpu_architectures())
        CHECK(why_no_code_for("sm_" + name.substr(name.find('_') + 1)).empty());
}
