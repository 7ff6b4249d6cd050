// The GPU kernels against plain loops: the cases that test_device_kernels.cpp runs for their CPU twins, and
// larger ones, tagged [large], which compute-sanitizer would take too long for.

#include "tests/common/real_gpus.hpp"
#include "tests/kernels/cases/batch_factors.hpp"
#include "tests/kernels/cases/batch_lists.hpp"
#include "tests/kernels/cases/batches.hpp"
#include "tests/kernels/cases/conversion.hpp"
#include "tests/kernels/cases/generation.hpp"
#include "tests/kernels/cases/leading_update.hpp"
#include "tests/kernels/cases/mixed.hpp"
#include "tests/kernels/cases/norms.hpp"
#include "tests/kernels/cases/reflectors.hpp"
#include "tests/kernels/cases/repetition.hpp"
#include "tests/kernels/cases/row_exchange.hpp"
#include "tests/kernels/cases/scaling.hpp"
#include "tests/kernels/cases/substitution.hpp"
#include "tests/kernels/cases/triangles.hpp"
#include "tests/kernels/cases/updates.hpp"
#include "tests/kernels/cuda_kernels.hpp"
#include "tests/kernels/whole_triangle.hpp"

using namespace basalt_tests;

TEST_CASE("interchanges of a panel become a permutation of few rows", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_row_moves(*gpu(), {{0, 0}, {1, 1}, {5, 5}, {7, 3}, {100, 64}, {64, 64}, {513, 512}, {3000, 1100}});
}

TEMPLATE_TEST_CASE("rows exchanged out of place are those that interchanges leave", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_row_exchange<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("a panel's whole update of the next columns is exchange, solve and product", "[cuda]", float,
                   double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    if (!gpu()->has_leading_update()) SKIP("this GPU has no clusters");
    check_leading_update<TestType>(
        *gpu(), {{33, 32, 0}, {33, 32, 1}, {97, 96, 31}, {100, 32, 33}, {192, 64, 64}, {300, 128, 70}, {1300, 96, 2}});
}

TEMPLATE_TEST_CASE("the next columns of tall GPU panels", "[cuda][medium]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    if (!gpu()->has_leading_update()) SKIP("this GPU has no clusters");
    check_leading_update<TestType>(*gpu(), {{2176, 128, 128}, {2177, 128, 128}, {4127, 32, 256}, {4224, 128, 97}});
}

TEMPLATE_TEST_CASE("a unit triangle is inverted and its inverse measured", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_triangle_inverse<TestType>(*gpu(), {0, 1, 2, 7, 8, 33, 63, 64, 65, 200, 300});
}

TEMPLATE_TEST_CASE("the norms of an inverse that holds a NaN are NaN", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_inverse_of_a_triangle_with_a_nan<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("the inverse and substitution solve for the same rows of U", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_solves<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("rows of U come from the inverses of diagonal blocks, and from substitution in them", "[cuda]",
                   float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_solves_by_blocks<TestType>(*gpu(), {0, 1, 5, 31, 32, 33, 64, 130});
    check_solves_of_groups<TestType>(*gpu(), 40, 2, 600);    // narrow strips and wide ones
    check_solves_of_groups<TestType>(*gpu(), 256, 5, 1100);  // wide strips, and two to a multiprocessor
}

TEMPLATE_TEST_CASE("one update covers a group of tile columns", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_update<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("vectors are multiplied by parts of a matrix on a device", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_vector_products<TestType, double>(*gpu());
    check_vector_products<TestType, TestType>(*gpu());
}

TEMPLATE_TEST_CASE("triangles are solved with, as they lie and transposed, on a device", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_solve_steps<TestType>(*gpu(), {0, 1, 2, 63, 64, 65, 200});
}

TEST_CASE("the update in TF32 rounds its operands, and nothing else does, on a GPU", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_update_in_tf32(*gpu());
}

TEST_CASE("products by slices are as accurate as those of single precision", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_update_by_slices(*gpu(), ProductPrecision::split_bf16);
    check_update_by_slices(*gpu(), ProductPrecision::split_fp16);
    check_transposed_product_by_slices(*gpu());
}

TEST_CASE("columns are scaled by powers of two and back on a GPU", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_scaled_columns(*gpu());
}

TEMPLATE_TEST_CASE("reflectors are stored in LAPACK's form and come back on a GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_stored_reflectors<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("blocks of reflectors are applied to tile columns on a GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_reflected_columns<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("products of a tall matrix with its own transpose are plain sums on a GPU", "[cuda]", float,
                   double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_gram_matrices<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("panels of QR are the product of their factors on a GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_qr_panels<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("groups of tile columns are copied and nothing else is written", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_copies<TestType>(*gpu(), {{0, 3, 3}, {1, 0, 3}, {2, 3, 0}, {1, 1, 1}, {3, 50, 33}, {2, 9, 1030}});
}

TEMPLATE_TEST_CASE("dealt tile columns are packed with their padding and come back", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_conversion<TestType>(*gpu(), dealt_matrices());
    check_conversion_one_place_ahead<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("strips of tile columns are packed with their padding and windows come back", "[cuda]", float,
                   double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_conversion_of_strips<TestType>(*gpu(), dealt_matrices());
}

TEMPLATE_TEST_CASE("a matrix becomes tile columns in its own memory and comes back", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_conversion_in_place<TestType>(*gpu(), dealt_matrices());
}

TEMPLATE_TEST_CASE("tiles change their order of elements and change it back", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_reordering<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("generators on a device give the matrices of the host", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_generators<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("norms on a device are those of plain loops", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_norms<TestType>(*gpu(), dealt_matrices());
    check_norms<TestType>(*gpu(), {{TileGrid(2100, 600, {100, 520}), {}}});
    check_that_padding_has_no_norm<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("norms on a device neither overflow nor underflow, and propagate NaN", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_norms_of_extreme_elements<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("the same input gives the same bits again", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_repeated_bits<TestType>(*gpu());
}

TEST_CASE("interchanges of the longest lists become a permutation", "[cuda][large]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_row_moves(*gpu(), {{1025, 1024}, {131072, 1024}, {100000, on_stream::max_row_moves}});
}

TEMPLATE_TEST_CASE("inverses of triangles are joined to larger ones", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_triangle_inverse<TestType>(*gpu(), {256, 257, 511, 513, 600, 1024});
}

TEMPLATE_TEST_CASE("rows of U of wide panels come from the inverses of diagonal blocks, and from substitution in them",
                   "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_solves_by_blocks<TestType>(*gpu(), {256, 300, 512, 513, 1100});
}

TEMPLATE_TEST_CASE("matrices of many tiles are converted both ways", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    const std::vector<Dealt> matrices{{TileGrid(2100, 3000, {512, 1024}), {}},
                                      {TileGrid(3000, 2100, {256, 384}), {1, 2}},
                                      {TileGrid(70000, 40, {64, 32}), {}}};
    check_conversion<TestType>(*gpu(), matrices);
    check_conversion_in_place<TestType>(*gpu(), matrices);
    check_norms<TestType>(*gpu(), matrices);
}

TEMPLATE_TEST_CASE("more rows are copied than a grid has blocks", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_copies<TestType>(*gpu(), {{1, 600000, 3}});
}

TEMPLATE_TEST_CASE("batches have LU and QR on the GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_batch_factors<TestType>(*gpu(), {1, 4, 5, 8, 13, 16, 17, 24, 31, 32, 33, 64, 100}, 7);
    check_batch_factors<TestType>(*gpu(), {3, 40}, 1);
}

TEMPLATE_TEST_CASE("batches of different shapes are factored and solved on the GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    for (const Index most : {2, 20, 33, 300}) check_batch_lists<TestType>(*gpu(), most);
}

TEMPLATE_TEST_CASE("batches of large orders have LU and QR on the GPU", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_batch_factors<TestType>(*gpu(), {129, 200, 256, 341}, 3);
    for (const int width : {8, 16, 32}) check_batch_lu<TestType>(*gpu(), 512, 3, 2, width);
}

TEMPLATE_TEST_CASE("batches of small matrices are factored and solved on the GPU", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_batches<TestType>(*gpu(), {1, 4, 5, 8, 13, 16, 17, 24, 31, 32, 33, 64, 100}, 7);
    check_batches<TestType>(*gpu(), {113, 129}, 2);
    check_batches<TestType>(*gpu(), {3, 8, 40}, 0);
    check_batches<TestType>(*gpu(), {3, 40}, 1);
}

TEMPLATE_TEST_CASE("batches of all orders are factored and solved on the GPU", "[cuda][large]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    std::vector<Index> orders{160, 192, 208, 209, 240, 256};
    for (Index n = 1; n <= 128; ++n) orders.push_back(n);
    check_batches<TestType>(*gpu(), orders, 3);
    check_batches<TestType>(*gpu(), {4, 20, 50}, 10'001);
}

TEST_CASE("matrices of doubles are measured and rounded", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_measured_magnitudes(*gpu(), on_stream::ScaledRows::largest);
    check_measured_magnitudes(*gpu(), on_stream::ScaledRows::sums);
    check_rounding(*gpu());
}

TEST_CASE("products of rounded operands are as accurate as these", "[cuda]") {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_rounded_products(*gpu());
}

TEMPLATE_TEST_CASE("blocks on the diagonal times their inverses are the identity", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_inverses_of_blocks<TestType>(*gpu());
}

TEMPLATE_TEST_CASE("a whole triangle is solved in one call", "[cuda]", float, double) {
    if (gpu() == nullptr) SKIP(no_gpu);
    check_substitution_of_whole<TestType>(*gpu());
}
