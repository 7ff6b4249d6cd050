// The GPU panel in all its designs against LAPACK. Cases tagged [large] are those that compute-sanitizer would take too
// long for, and [medium] those that only its racecheck would.

#include <set>
#include <utility>

#include "kernels/cuda/panel/fused.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/kernels/panel_cases.hpp"

using namespace basalt_tests;

namespace {

/// The cluster also with all warps, where by default two lead, and with more rows a block, which have leaves of their
/// own.
const PanelPlans designs{{PanelDesign::cluster},
                         {PanelDesign::cluster, 0, 16},
                         {.design = PanelDesign::cluster, .rows_a_block = 250},
                         {.design = PanelDesign::cluster, .rows_a_block = 500},
                         {PanelDesign::grid},
                         {PanelDesign::fused},
                         {PanelDesign::steps}};

/// The leaves of panels above 135,168 rows of doubles.
const PanelPlans narrow_leaves{{PanelDesign::grid, 0, 8}, {PanelDesign::grid, 0, 4}, {PanelDesign::grid, 0, 2}};

/// Those that can be recorded.
const PanelPlans recorded{{PanelDesign::cluster}, {PanelDesign::grid}, {PanelDesign::grid, 32}, {PanelDesign::fused}};

/// Around the widths and heights at which kernels treat rows and columns together.
const std::vector<Index> heights{0, 1, 5, 31, 32, 33, 100, 257},
    widths{1, 2, 7, 8, 16, 31, 64, 65, 100, 128, 129, 200, 256, 301, 512};

Shapes product(const std::vector<Index>& rows, const std::vector<Index>& cols) {
    Shapes shapes;
    for (const Index m : rows) {
        for (const Index n : cols) shapes.push_back({m, n});
    }
    return shapes;
}

const Shapes few{{0, 0},   {0, 5},    {5, 0},   {1, 1},    {1, 16},   {5, 7},     {31, 2},    {32, 31},
                 {33, 64}, {64, 100}, {100, 8}, {257, 40}, {600, 40}, {1000, 16}, {600, 200}, {1100, 70}};

/// The design `fused` with the update that its plan does not name.
class GreedyKernels : public CudaKernels {
  public:
    using CudaKernels::CudaKernels;

    using CudaKernels::operator();
    template <class T>
    void operator()(basalt::on_stream::PanelFactor<T>, View<T> panel, Index* pivots, Index* info, void* workspace,
                    const PanelPlan& plan, const basalt::on_stream::PanelProducts& products, basalt::PanelLog log,
                    basalt::RowMoves moves) {
        run([&](basalt::Stream stream) {
            const View<T> nothing = panel.block(0, 0, 0, 0);
            // *info = 0, and the log begun
            basalt::on_stream::panel_factor<T>(stream, nothing, pivots, info, workspace, plan, products, log, {});
            basalt::cuda_detail::factor_fused<T>(stream, panel, pivots, info, workspace, plan.leaf_width,
                                                 plan.tallest_leaf, basalt::cuda_detail::FusedUpdate::greedy, log);
            basalt::on_stream::find_row_moves(stream, pivots, moves);
        });
    }
};

/// There is a GPU.
GreedyKernels& greedy() {
    static const auto devices = basalt::detail::make_cuda_devices(1);
    static GreedyKernels kernels(*devices.front());
    return kernels;
}

}  // namespace

TEMPLATE_TEST_CASE("every design of the GPU panel takes the heights it is meant for", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    for (const PanelPlan plan : designs) {
        INFO(text_of(plan));
        for (const Index m : {1, 1000, 16384})
            CHECK((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{m}, PanelPlan(plan)));
    }
    for (const Index m : {131072, 262144, 524288, 1'000'000})
        CHECK((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{m}, PanelPlan{PanelDesign::grid}));
    CHECK_FALSE((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{131072}, PanelPlan{PanelDesign::grid, 64}));
    CHECK_FALSE((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{32768}, PanelPlan{PanelDesign::cluster}));
    CHECK((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{10'000'000}, PanelPlan{PanelDesign::steps}));
    CHECK_FALSE((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{1000}, PanelPlan{PanelDesign::steps, 0, 1024}));
    CHECK_FALSE((*gpu())(basalt::on_stream::panel_fits<TestType>, Index{1000}, PanelPlan{PanelDesign::fused, 0, 1024}));
}

TEMPLATE_TEST_CASE("the GPU panel factors as accurately as LAPACK demands", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_ratios<TestType>(*gpu(), designs, few);
}

TEST_CASE("wide GPU panels of floats multiply by slices where that pays", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    using basalt::ProductPrecision;
    for (const auto& [m, n] : Shapes{{600, 512}, {1500, 600}, {2600, 1024}}) {
        const Dense<float> a = random_dense<float>(m, n, static_cast<unsigned>(m + n));
        const auto bytes = basalt::split_workspace(m, n, n);
        CudaKernels::Memory<unsigned char> workspace(*gpu(), std::vector<unsigned char>(bytes, 0xb5));
        for (const PanelPlan plan : {PanelPlan{PanelDesign::cluster}, PanelPlan{PanelDesign::grid}}) {
            const Factored<float> plain = factor_panel<float>(*gpu(), a, plan);
            for (const ProductPrecision precision : {ProductPrecision::split_bf16, ProductPrecision::split_fp16}) {
                const auto by_slices = [&](Index least_depth) {
                    return factor_panel<float>(*gpu(), a, plan, -1, {},
                                               {precision, {least_depth, 1}, workspace.data()});
                };
                INFO(m << " x " << n << ", " << text_of(plan) << ", " << name_of(precision));
                const Factored<float> found = by_slices(256);
                CHECK(found.info == 0);
                REQUIRE(pivots_in_range(found));
                CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
                CHECK(largest_multiplier(found.lu) <= 1);
                const bool other_bits = found.lu.values != plain.lu.values,
                           same_bits = by_slices(n).lu.values == plain.lu.values;
                CHECK(other_bits);
                CHECK(same_bits);
            }
        }
    }
}

TEST_CASE("blocks of the GPU panel log their phases, and the factors do not change", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_log(*gpu(), recorded, {{40, 32}, {300, 70}});
}

TEST_CASE("blocks of large GPU panels log their phases", "[cuda][medium]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_log(*gpu(), recorded, {{1000, 64}, {3000, 256}, {2500, 600}});
}

TEMPLATE_TEST_CASE("the GPU panel has LAPACK's pivots", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    const Shapes shapes{{1, 1}, {33, 7}, {70, 100}, {257, 40}, {600, 40}, {1000, 16}, {1100, 70}};
    check_separated_panel_pivots<TestType>(*gpu(), designs, shapes);
    check_tied_panel_pivots<TestType>(*gpu(), designs, shapes);
    check_panel_of_equal_magnitudes<TestType>(*gpu(), designs, 700);
}

TEMPLATE_TEST_CASE("a singular GPU panel is factored to its end and INFO names the first zero", "[cuda]", float,
                   double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_with_zero_columns<TestType>(*gpu(), designs, 200, 40);
}

TEMPLATE_TEST_CASE("a denormal pivot of a GPU panel divides instead of overflowing", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_with_denormal_pivot<TestType>(*gpu(), designs, 600);
}

TEMPLATE_TEST_CASE("NaN and infinity in a GPU panel neither hang nor choose a row outside", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_with_nonfinite_elements<TestType>(*gpu(), designs, 150, 40);
    check_panel_pivots_beside_nan<TestType>(*gpu(), designs, 600);
    check_panel_above_row_of_nan<TestType>(*gpu(), designs, 300, 100);
}

TEMPLATE_TEST_CASE("the GPU panel repeats its bits", "[cuda][medium]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_repeated_panel<TestType>(*gpu(), designs, 700, 70, 3);
}

TEMPLATE_TEST_CASE("zeros, NaN and infinity in a GPU panel of some rows", "[cuda][medium]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    for (const Index m : {900, 1200}) {
        check_panel_with_zero_columns<TestType>(*gpu(), designs, m, 200);
        check_panel_with_nonfinite_elements<TestType>(*gpu(), designs, m, 200);
        check_panel_above_row_of_nan<TestType>(*gpu(), designs, m, 200);
    }
}

TEMPLATE_TEST_CASE("blocks and leaves of a GPU panel may be chosen", "[cuda][medium]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    PanelPlans plans;
    for (const PanelPlan& design : designs) {
        for (const int blocks : {0, 1, 2, 7, 16}) {
            for (const int leaf : {0, 1, 4, 5, 8, 16, 32, 33, 64, 128}) {
                plans.push_back(design);
                plans.back().blocks = blocks;
                plans.back().leaf_width = leaf;
            }
        }
    }
    check_panel_ratios<TestType>(*gpu(), plans, {{300, 70}});
    check_tied_panel_pivots<TestType>(*gpu(), plans, {{300, 70}});
}

TEST_CASE("a GPU panel has no more blocks than its plan has rows for", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    constexpr Index m = 1000, n = 32;
    const Dense<double> a = random_dense<double>(m, n, 3);
    for (const PanelDesign design : {PanelDesign::cluster, PanelDesign::grid}) {
        for (const auto& [rows_a_block, blocks] : {std::pair<Index, std::size_t>{64, 16}, {125, 8}, {250, 4}}) {
            PanelPlan plan{design};
            plan.rows_a_block = rows_a_block;
            for_fitting<double>(*gpu(), {plan}, m, n, [&, blocks = blocks](PanelPlan fitting) {
                KernelLog<CudaKernels> log(*gpu(), 132, basalt::PanelLog::enough_for(n));
                const Factored<double> found = factor_panel<double>(*gpu(), a, fitting, -1, log.log());
                CHECK(factor_ratio(a, found.lu, found.pivots) < 30);
                std::set<int> busy;
                for (const basalt::PanelLogSpan& span : log.spans()) busy.insert(span.block);
                CHECK(busy.size() == blocks);
            });
        }
    }
}

TEMPLATE_TEST_CASE("narrow leaves of a GPU panel", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    // widths after which rows begin at 16 bytes: others go by steps
    const Shapes shapes{{272, 1}, {272, 7}, {300, 33}, {600, 72}, {5000, 16}};
    check_panel_ratios<TestType>(*gpu(), narrow_leaves, shapes);
    check_separated_panel_pivots<TestType>(*gpu(), narrow_leaves, shapes);
    check_tied_panel_pivots<TestType>(*gpu(), narrow_leaves, shapes);
    check_panel_with_zero_columns<TestType>(*gpu(), narrow_leaves, 300, 40);
    check_panel_with_denormal_pivot<TestType>(*gpu(), narrow_leaves, 600);
    check_panel_with_nonfinite_elements<TestType>(*gpu(), narrow_leaves, 350, 40);
    check_panel_pivots_beside_nan<TestType>(*gpu(), narrow_leaves, 600);
    check_panel_above_row_of_nan<TestType>(*gpu(), narrow_leaves, 400, 100);
}

TEMPLATE_TEST_CASE("narrow leaves of wide and of tall GPU panels", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    const Shapes shapes{{304, 304}, {4099, 256}, {20000, 600}, {200000, 31}};
    check_panel_ratios<TestType>(*gpu(), narrow_leaves, shapes);
    check_separated_panel_pivots<TestType>(*gpu(), narrow_leaves, {{20000, 31}, {40000, 100}});
    check_tied_panel_pivots<TestType>(*gpu(), narrow_leaves, {{4099, 128}, {40000, 100}});
    check_panel_ratios<TestType>(*gpu(), {{PanelDesign::grid}}, {{300000, 40}, {600000, 40}, {1000000, 24}});
    check_repeated_panel<TestType>(*gpu(), narrow_leaves, 5000, 64, 20);
}

TEMPLATE_TEST_CASE("leaves of a fused GPU panel that are taller than its plan allows go by steps", "[cuda]", float,
                   double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    PanelPlans plans;
    for (const Index tallest : {1, 100, 270, 1 << 20}) plans.push_back({PanelDesign::fused, 0, 0, tallest});
    check_panel_ratios<TestType>(*gpu(), plans, {{300, 70}});
    check_tied_panel_pivots<TestType>(*gpu(), plans, {{300, 70}});
}

TEMPLATE_TEST_CASE("a fused GPU panel may update greedily", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_ratios<TestType>(greedy(), {{PanelDesign::fused}}, {{0, 3}, {3, 9}, {300, 70}});
    check_tied_panel_pivots<TestType>(greedy(), {{PanelDesign::fused}}, {{300, 70}});
}

TEMPLATE_TEST_CASE("a fused GPU panel may update greedily when it is tall", "[cuda][medium]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_ratios<TestType>(greedy(), {{PanelDesign::fused}}, {{700, 70}, {5000, 33}});
    check_tied_panel_pivots<TestType>(greedy(), {{PanelDesign::fused}}, {{700, 70}, {5000, 33}});
}

TEMPLATE_TEST_CASE("GPU panels of all small shapes", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_ratios<TestType>(*gpu(), designs, product(heights, widths));
    check_tied_panel_pivots<TestType>(*gpu(), designs, product({31, 100, 257}, {1, 7, 31, 64, 200}));
}

TEMPLATE_TEST_CASE("tall GPU panels", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_ratios<TestType>(*gpu(), designs, product({1000, 1300}, {1, 31, 64, 96, 127, 200, 512}));
    check_panel_ratios<TestType>(*gpu(), designs, {{4099, 2}, {4099, 16}, {4099, 100}, {4099, 256}, {4099, 1000}});
    check_panel_ratios<TestType>(*gpu(), designs, {{20000, 1}, {20000, 64}, {20000, 256}, {40000, 31}, {40000, 256}});
    check_panel_ratios<TestType>(*gpu(), designs, {{2049, 256}, {3000, 100}, {4096, 40}});
    check_panel_ratios<TestType>(*gpu(), designs, {{9001, 64}, {16384, 40}, {200000, 64}});
}

TEMPLATE_TEST_CASE("tall GPU panels have LAPACK's pivots", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_separated_panel_pivots<TestType>(*gpu(), designs, {{3000, 128}, {4099, 128}, {20000, 31}, {40000, 16}});
    check_tied_panel_pivots<TestType>(*gpu(), designs, {{3000, 128}, {4099, 128}, {20000, 64}, {40000, 100}});
    check_panel_of_equal_magnitudes<TestType>(*gpu(), designs, 200000);
}

TEMPLATE_TEST_CASE("tall GPU panels with zeros, NaN and infinity", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_panel_with_zero_columns<TestType>(*gpu(), designs, 20000, 40);
    check_panel_with_denormal_pivot<TestType>(*gpu(), designs, 20000);
    check_panel_with_nonfinite_elements<TestType>(*gpu(), designs, 20000, 40);
    check_panel_pivots_beside_nan<TestType>(*gpu(), designs, 40000);
}

TEMPLATE_TEST_CASE("the GPU panel repeats its bits two hundred times", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_repeated_panel<TestType>(*gpu(), {{PanelDesign::cluster}, {PanelDesign::grid}}, 5000, 128, 200);
    for (const Index m : {1500, 3000}) check_repeated_panel<TestType>(*gpu(), {{PanelDesign::cluster}}, m, 256, 200);
    check_repeated_panel<TestType>(*gpu(), {{PanelDesign::fused}, {PanelDesign::steps}}, 5000, 64, 20);
}
