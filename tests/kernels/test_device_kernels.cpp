// The CPU twins of the GPU kernels, which emulated devices run, against plain loops. test_kernels_cuda.cpp
// runs the same cases on a GPU.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cpu/products/split_product.hpp"
#include "tests/kernels/cases/batch_factors.hpp"
#include "tests/kernels/cases/batch_lists.hpp"
#include "tests/kernels/cases/batches.hpp"
#include "tests/kernels/cases/conversion.hpp"
#include "tests/kernels/cases/generation.hpp"
#include "tests/kernels/cases/leading_update.hpp"
#include "tests/kernels/cases/mixed.hpp"
#include "tests/kernels/cases/norms.hpp"
#include "tests/kernels/cases/reflectors.hpp"
#include "tests/kernels/cases/row_exchange.hpp"
#include "tests/kernels/cases/scaling.hpp"
#include "tests/kernels/cases/substitution.hpp"
#include "tests/kernels/cases/triangles.hpp"
#include "tests/kernels/cases/updates.hpp"
#include "tests/kernels/cpu_twins.hpp"
#include "tests/kernels/panel_cases.hpp"
#include "tests/kernels/whole_triangle.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

CpuTwins twins;

}  // namespace

TEST_CASE("interchanges of a panel become a permutation of few rows", "[kernels][sanitize]") {
    check_row_moves(twins, {{0, 0}, {1, 1}, {5, 5}, {7, 3}, {100, 64}, {64, 64}, {513, 512}, {3000, 1100}});
}

TEMPLATE_TEST_CASE("rows exchanged out of place are those that interchanges leave", "[kernels][sanitize]", float,
                   double) {
    check_row_exchange<TestType>(twins);
}

TEMPLATE_TEST_CASE("a panel's whole update of the next columns is exchange, solve and product", "[kernels][sanitize]",
                   float, double) {
    check_leading_update<TestType>(twins, {{1, 1, 0}, {33, 32, 1}, {40, 7, 5}, {100, 32, 33}, {300, 128, 20}});
}

TEMPLATE_TEST_CASE("a unit triangle is inverted and its inverse measured", "[kernels][sanitize]", float, double) {
    check_triangle_inverse<TestType>(twins, {0, 1, 2, 7, 8, 33, 63, 64, 65, 200, 300});
}

TEMPLATE_TEST_CASE("the norms of an inverse that holds a NaN are NaN", "[kernels][sanitize]", float, double) {
    check_inverse_of_a_triangle_with_a_nan<TestType>(twins);
}

TEMPLATE_TEST_CASE("the inverse and substitution solve for the same rows of U", "[kernels][sanitize]", float, double) {
    check_solves<TestType>(twins);
}

TEMPLATE_TEST_CASE("rows of U come from the inverses of diagonal blocks, and from substitution in them",
                   "[kernels][sanitize]", float, double) {
    check_solves_by_blocks<TestType>(twins, {0, 1, 5, 31, 32, 33, 64, 130});
    check_solves_of_groups<TestType>(twins, 70, 3, 40);
}

TEMPLATE_TEST_CASE("one update covers a group of tile columns", "[kernels][sanitize]", float, double) {
    check_update<TestType>(twins);
}

TEMPLATE_TEST_CASE("vectors are multiplied by parts of a matrix", "[kernels][sanitize]", float, double) {
    check_vector_products<TestType, double>(twins);
    check_vector_products<TestType, TestType>(twins);
}

TEMPLATE_TEST_CASE("triangles are solved with, as they lie and transposed", "[kernels][sanitize]", float, double) {
    check_solve_steps<TestType>(twins, {0, 1, 2, 63, 64, 65, 200});
}

TEST_CASE("the update in TF32 rounds its operands, and nothing else does") { check_update_in_tf32(twins); }

TEST_CASE("products by slices are as accurate as those of single precision", "[kernels][sanitize]") {
    check_update_by_slices(twins, ProductPrecision::split_bf16);
    check_update_by_slices(twins, ProductPrecision::split_fp16);
    check_transposed_product_by_slices(twins);
}

TEST_CASE("columns are scaled by powers of two and back", "[kernels][sanitize]") { check_scaled_columns(twins); }

TEST_CASE("three slices of 8 bits make up a number of single precision", "[kernels]") {
    constexpr Slicing bf16 = slicing_of(ProductPrecision::split_bf16);
    std::mt19937 random(3);
    std::vector<float> numbers{0,         -0.0F,    1, 0x1.fffffep127F, -0x1.fffffep127F, 0x1p-126F, 0x1.fffffep-126F,
                               0x1p-149F, 0x1.ffp0F};
    for (int i = 0; i < 10000; ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (std::isfinite(x)) numbers.push_back(x);
    }
    for (const float x : numbers) {
        double sum = 0, scale = 1;
        for (const float slice : cpu_kernels::slices_of(x, bf16)) {
            CHECK((std::bit_cast<std::uint32_t>(slice) & 0xffff) == 0);
            sum += double{slice} * scale;
            scale /= double{bf16.step()};
        }
        CHECK(sum == double{x});
    }
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(cpu_kernels::slices_of(infinity, bf16) == std::array<float, 3>{infinity, 0, 0});
    CHECK(std::isnan(cpu_kernels::slices_of(std::numeric_limits<float>::quiet_NaN(), bf16)[0]));
}

TEMPLATE_TEST_CASE("reflectors are stored in LAPACK's form and come back", "[kernels][sanitize]", float, double) {
    check_stored_reflectors<TestType>(twins);
}

TEMPLATE_TEST_CASE("blocks of reflectors are applied to tile columns", "[kernels][sanitize]", float, double) {
    check_reflected_columns<TestType>(twins);
}

TEMPLATE_TEST_CASE("products of a tall matrix with its own transpose are plain sums", "[kernels][sanitize]", float,
                   double) {
    check_gram_matrices<TestType>(twins);
}

TEMPLATE_TEST_CASE("panels of QR are the product of their factors", "[kernels][sanitize]", float, double) {
    check_qr_panels<TestType>(twins);
}

TEMPLATE_TEST_CASE("groups of tile columns are copied and nothing else is written", "[kernels][sanitize]", float,
                   double) {
    check_copies<TestType>(twins, {{0, 3, 3}, {1, 0, 3}, {2, 3, 0}, {1, 1, 1}, {3, 50, 33}, {2, 9, 1030}});
}

TEMPLATE_TEST_CASE("dealt tile columns are packed with their padding and come back", "[kernels][sanitize]", float,
                   double) {
    check_conversion<TestType>(twins, dealt_matrices());
    check_conversion_one_place_ahead<TestType>(twins);
}

TEMPLATE_TEST_CASE("strips of tile columns are packed with their padding and windows come back", "[kernels][sanitize]",
                   float, double) {
    check_conversion_of_strips<TestType>(twins, dealt_matrices());
}

TEMPLATE_TEST_CASE("a matrix becomes tile columns in its own memory and comes back", "[kernels][sanitize]", float,
                   double) {
    check_conversion_in_place<TestType>(twins, dealt_matrices());
}

TEMPLATE_TEST_CASE("tiles change their order of elements and change it back", "[kernels][sanitize]", float, double) {
    check_reordering<TestType>(twins);
}

TEMPLATE_TEST_CASE("generators on a device give the matrices of the host", "[kernels][sanitize]", float, double) {
    check_generators<TestType>(twins);
}

TEMPLATE_TEST_CASE("norms on a device are those of plain loops", "[kernels][sanitize]", float, double) {
    check_norms<TestType>(twins, dealt_matrices());
    check_norms<TestType>(twins, {{TileGrid(2100, 600, {100, 520}), {}}});
    check_that_padding_has_no_norm<TestType>(twins);
}

TEMPLATE_TEST_CASE("norms on a device neither overflow nor underflow, and propagate NaN", "[kernels][sanitize]", float,
                   double) {
    check_norms_of_extreme_elements<TestType>(twins);
}

TEMPLATE_TEST_CASE("an emulated device factors panels as LAPACK does", "[kernels][sanitize]", float, double) {
    const PanelPlans any{{}};
    check_panel_ratios<TestType>(twins, any, {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {5, 7}, {33, 64}, {64, 100}, {700, 70}});
    check_separated_panel_pivots<TestType>(twins, any, {{33, 7}, {70, 100}, {1000, 16}});
    check_tied_panel_pivots<TestType>(twins, any, {{33, 7}, {70, 100}, {1000, 16}});
    check_panel_of_equal_magnitudes<TestType>(twins, any, 700);
}

TEMPLATE_TEST_CASE("an emulated device factors panels with zeros, denormals, NaN and infinity as LAPACK does",
                   "[kernels][sanitize]", float, double) {
    const PanelPlans any{{}};
    check_panel_with_zero_columns<TestType>(twins, any, 200, 40);
    check_panel_with_denormal_pivot<TestType>(twins, any, 600);
    check_panel_with_nonfinite_elements<TestType>(twins, any, 150, 40);
    check_panel_pivots_beside_nan<TestType>(twins, any, 600);
    check_panel_above_row_of_nan<TestType>(twins, any, 300, 100);
    check_repeated_panel<TestType>(twins, any, 700, 70, 3);
}

TEMPLATE_TEST_CASE("batches have LU and QR", "[kernels][sanitize]", float, double) {
    check_batch_factors<TestType>(twins, {1, 4, 13, 32, 33, 64}, 7);
}

TEMPLATE_TEST_CASE("batches of different shapes are factored and solved", "[kernels][sanitize]", float, double) {
    for (const Index most : {2, 33}) check_batch_lists<TestType>(twins, most);
}

TEMPLATE_TEST_CASE("batches of small matrices are factored and solved", "[kernels][sanitize]", float, double) {
    check_batches<TestType>(twins, {0, 1, 4, 13, 32, 33, 64}, 7);
    check_batches<TestType>(twins, {3, 40}, 0);
}

TEST_CASE("matrices of doubles are measured and rounded", "[kernels][sanitize]") {
    check_measured_magnitudes(twins, on_stream::ScaledRows::largest);
    check_measured_magnitudes(twins, on_stream::ScaledRows::sums);
    check_rounding(twins);
}

TEST_CASE("products of rounded operands are as accurate as these", "[kernels][sanitize]") {
    check_rounded_products(twins);
}

TEMPLATE_TEST_CASE("blocks on the diagonal times their inverses are the identity", "[kernels][sanitize]", float,
                   double) {
    check_inverses_of_blocks<TestType>(twins);
}

TEMPLATE_TEST_CASE("a whole triangle is solved in one call", "[kernels][sanitize]", float, double) {
    check_substitution_of_whole<TestType>(twins);
}
