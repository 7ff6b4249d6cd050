// The grids of all kernels for matrices of 2^26 rows, and of as many columns, are such that GPUs launch them.

#include <string>
#include <vector>

#include "kernels/cuda/cholesky/block.hpp"
#include "kernels/cuda/grids.hpp"
#include "kernels/cuda/panel/leading_block.hpp"
#include "kernels/cuda/panel/leading_shape.hpp"
#include "kernels/cuda/panel/shape.hpp"
#include "kernels/cuda/qr/leaf.hpp"
#include "kernels/norm_workspace.hpp"
#include "kernels/on_stream/rows.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;
using namespace basalt::cuda_detail;

namespace {

struct Named {
    std::string name;
    Grid grid;
};

constexpr Index huge = Index{1} << 26;

/// `columns` tile columns of rows x width, by words of an element each, or of 16 bytes.
std::vector<Named> grids_of_tile_columns(Index columns, Index rows, Index width) {
    const Index down = norm_blocks_down(rows), across = norm_blocks_across(width);
    return {
        {"pack", transposition_grid(width, rows, columns)},
        {"unpack", transposition_grid(rows, width, columns)},
        {"reorder, tiles as tall as the matrix", transposition_grid(rows, width, columns)},
        {"reorder, square tiles", transposition_grid(width, width, columns * divide_up(rows, width))},
        {"padding", padding_grid(columns, rows)},
        {"copy, elements", copy_grid(columns, rows, width)},
        {"copy, 16 bytes", copy_grid(columns, rows, divide_up(width, 2))},
        {"generate", generator_grid(columns, rows, width)},
        {"max norm, sums of squares", norm_parts_grid(columns, down, across)},
        {"column sums", column_sums_grid(columns, down, width)},
        {"add column sums", add_columns_grid(columns * width)},
        {"row sums", row_sums_grid(rows)},
        {"largest", largest_grid(rows)},
        {"exchange rows", exchange_grid(columns, width, on_stream::max_row_moves)},
        {"solve", strips_grid(columns, width, strip_cols)},
        {"split, elements", split_grid(columns, rows, width, 1)},
        {"split, four", split_grid(columns, rows, width, 4)},
    };
}

/// A matrix of rows x cols without tiles, or a panel of it.
std::vector<Named> grids_of_windows(Index rows, Index cols) {
    return {
        {"copy a triangle", triangle_copy_grid(rows, cols)},
        {"zeros", zero_grid(rows)},
        {"product", vector_product_grid(rows, std::min(cols, most_blocks_yz))},
        {"solve a block", solve_block_grid(cols)},
        {"measure", measured_grid(rows)},
        {"scale columns", scaled_columns_grid(rows, cols)},
        {"round", rounded_grid(rows, cols)},
        {"invert blocks", inverted_blocks_grid(rows, 128)},
        {"substitute, whole", whole_grid(divide_up(rows, 128), std::min(cols, most_blocks_yz))},
        {"search", search_grid(rows)},
        {"eliminate", elimination_grid(rows, step_threads / steps_width)},
        {"interchange", interchange_grid(cols)},
        {"leading update", leading_grid(std::min(rows, cuda_kernels::leading_height), 64,
                                        std::min(divide_up(cols, strip_cols), most_blocks_yz))},
        {"Cholesky, rows below a leaf", solved_rows_grid(rows, cholesky::solved_rows)},
        {"Cholesky, band", band_grid(rows)},
        {"QR, reflectors", reflector_rows_grid(rows)},
        {"QR, Gram matrix", shared_rows_grid(rows, 64, 264)},
        {"QR, Householder", shared_rows_grid(rows, 256, 132)},
        {"QR, sums", elements_grid(qr_wide_width * cols, 32)},
        {"QR, leaf in its place", placed_rows_grid(rows)},
        {"batch, a matrix a block", batch_grid(rows, 1)},
    };
}

void check(const std::vector<Named>& grids) {
    for (const auto& [name, grid] : grids) {
        INFO(name << ": " << grid.x << " x " << grid.y << " x " << grid.z);
        CHECK(can_launch(grid));
    }
}

}  // namespace

TEST_CASE("limits of grids are those of GPUs") {
    CHECK(can_launch({most_blocks_x, most_blocks_yz, most_blocks_yz}));
    CHECK_FALSE(can_launch({most_blocks_x + 1}));
    CHECK_FALSE(can_launch({1, most_blocks_yz + 1}));
    CHECK_FALSE(can_launch({1, 1, most_blocks_yz + 1}));
    CHECK_FALSE(can_launch({0}));
    CHECK_FALSE(can_launch({1, huge / square_side}));  // a square of rows for each block in y
}

TEST_CASE("every kernel can be launched for tile columns of 2^26 rows") {
    for (const Index width : {1, 32, 1000, 8192}) {
        for (const Index columns : {1, 7, 64}) {
            INFO(columns << " columns of width " << width);
            check(grids_of_tile_columns(columns, huge, width));
        }
    }
}

TEST_CASE("every kernel can be launched for 2^26 columns in tiles of any width") {
    for (const Index rows : {1, 64, 4096}) {
        for (const Index width : {32, 512, 4096}) {
            INFO(rows << " rows, tiles of width " << width);
            check(grids_of_tile_columns(huge / width, rows, width));
        }
    }
}

TEST_CASE("every kernel can be launched for windows of 2^26 rows or columns") {
    for (const Index few : {1, 33, 4096}) {
        check(grids_of_windows(huge, few));
        check(grids_of_windows(few, huge));
    }
    for (const Index order : {1, 256, 1 << 20}) {
        check({{"inverse", inverse_grid(order)}, {"norms of the inverse", inverse_norms_grid(order)}});
    }
}

TEST_CASE("parts cover all items once, in order, and none is too large") {
    for (const Index count : {Index{0}, Index{1}, most_blocks_yz, most_blocks_yz + 1, huge}) {
        Index next = 0;
        in_parts(count, most_blocks_yz, [&](Index first, Index part) {
            CHECK(first == next);
            CHECK((part > 0 && part <= most_blocks_yz));
            next = first + part;
        });
        CHECK(next == count);
    }
}
