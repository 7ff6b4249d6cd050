#pragma once

#include <algorithm>

#include <basalt/view.hpp>

/// The grids of all kernels whose number of blocks grows with the matrix, computed on the host without CUDA, so that a
/// test can check them for matrices that no memory holds. Kernels whose data may be taller than 65535 blocks in y or z
/// step by the size of the grid; the others are launched for parts (in_parts()).
namespace basalt::cuda_detail {

/// Blocks of threads in x, y and z.
struct Grid {
    Index x = 1;
    Index y = 1;
    Index z = 1;
};

/// Limits of all GPUs.
inline constexpr Index most_blocks_x = (Index{1} << 31) - 1, most_blocks_yz = 65535;

constexpr bool can_launch(const Grid& grid) {
    return std::min({grid.x, grid.y, grid.z}) > 0 && grid.x <= most_blocks_x &&
           std::max(grid.y, grid.z) <= most_blocks_yz;
}

/// ceil(a / b) for a >= 0, b > 0.
constexpr Index divide_up(Index a, Index b) { return (a + b - 1) / b; }

/// Calls f(first, part) for `count` items in parts of at most `most`.
template <class F>
constexpr void in_parts(Index count, Index most, const F& f) {
    for (Index first = 0; first < count; first += most) f(first, std::min(most, count - first));
}

// ---- matrix/ --------------------------------------------------------------------------------------------

/// A square that a block moves through shared memory.
inline constexpr int square_side = 64;

/// transpose_kernel: matrices of rows x cols, each row-major in the source. Steps in y and z.
constexpr Grid transposition_grid(Index rows, Index cols, Index batches) {
    return {divide_up(cols, square_side), std::min(divide_up(rows, square_side), most_blocks_yz),
            std::min(batches, most_blocks_yz)};
}

inline constexpr int copy_threads = 128, copied_rows = 8;
/// copy_kernel: rows of `words` words in each of `columns` tile columns. Steps in y.
constexpr Grid copy_grid(Index columns, Index rows, Index words) {
    return {columns * divide_up(words, copy_threads), std::min(divide_up(rows, copied_rows), most_blocks_yz)};
}

/// padding_kernel: rows of tile columns. Steps in y.
constexpr Grid padding_grid(Index columns, Index rows) { return {columns, std::min(rows, most_blocks_yz)}; }

inline constexpr int generator_threads = 128;
inline constexpr Index generated_rows = 128;
/// generate_kernel. Steps in y.
constexpr Grid generator_grid(Index columns, Index rows, Index width) {
    return {columns * divide_up(width, generator_threads), std::min(divide_up(rows, generated_rows), most_blocks_yz)};
}

inline constexpr int warp_threads = 32, norm_warps = 8, norm_threads = norm_warps * warp_threads;
/// max_kernel and square_kernel, for norm_blocks_down(rows) * norm_blocks_across(width) parts of each tile column.
constexpr Grid norm_parts_grid(Index columns, Index blocks_down, Index blocks_across) {
    return {columns * blocks_down * blocks_across};
}
/// column_sums_kernel. Steps in y.
constexpr Grid column_sums_grid(Index columns, Index blocks_down, Index width) {
    return {columns * divide_up(width, warp_threads), std::min(blocks_down, most_blocks_yz)};
}
constexpr Grid add_columns_grid(Index count) { return {divide_up(count, norm_threads)}; }
constexpr Grid row_sums_grid(Index rows) { return {divide_up(rows, norm_warps)}; }
/// largest_kernel. Steps in x.
constexpr Grid largest_grid(Index count) { return {std::min<Index>(divide_up(count, norm_threads), 1024)}; }

inline constexpr int scaled_columns = 128, scaled_rows = 128;
/// largest_in_columns_kernel and scale_columns_kernel. Steps in y.
constexpr Grid scaled_columns_grid(Index rows, Index cols) {
    return {divide_up(cols, scaled_columns), std::min(divide_up(rows, scaled_rows), most_blocks_yz)};
}

// ---- rows/ ----------------------------------------------------------------------------------------------

inline constexpr int exchange_threads = 128, exchanged_rows = 4;
/// exchange_kernel. As many moves as find_row_moves() takes fit in y.
constexpr Grid exchange_grid(Index columns, Index words, Index moves) {
    return {columns * divide_up(words, exchange_threads), divide_up(moves, exchanged_rows)};
}

// ---- triangle/ ------------------------------------------------------------------------------------------

/// copy_triangle_kernel. Steps in y.
constexpr Grid triangle_copy_grid(Index rows, Index cols) {
    return {divide_up(cols, square_side), std::min(divide_up(rows, square_side), most_blocks_yz)};
}

inline constexpr int zero_threads = 256;
/// zero_triangle_kernel: a block for each line. Steps in x.
constexpr Grid zero_grid(Index lines) { return {std::min(lines, most_blocks_yz)}; }

/// Rows of a triangle that one set of blocks inverts by substitution, and columns of the inverse that a block makes.
inline constexpr int inverted_rows = 256, inverted_cols = 8;
/// invert_base_kernel. y holds triangles of up to 16776960 rows, whose inverse no memory holds.
constexpr Grid inverse_grid(Index order) {
    return {inverted_rows / inverted_cols, std::max<Index>(1, divide_up(order, inverted_rows))};
}
/// finish_kernel.
constexpr Grid inverse_norms_grid(Index order) { return {divide_up(order, warp_threads)}; }

/// solve_kernel, whose blocks have `strip_cols` columns each.
constexpr Grid strips_grid(Index columns, Index width, Index strip_cols) {
    return {columns * divide_up(width, strip_cols)};
}

/// invert_blocks_kernel: a block of order `order` of the diagonal a thread block.
constexpr Grid inverted_blocks_grid(Index rows, Index order) { return {divide_up(rows, order)}; }
/// whole_kernel, for most_blocks_yz vectors at most.
constexpr Grid whole_grid(Index diagonal_blocks, Index vectors) { return {diagonal_blocks, vectors}; }

// ---- products/ ------------------------------------------------------------------------------------------

inline constexpr int product_warps = 8, product_rows_a_warp = 4;
/// product_kernel, for most_blocks_yz vectors at most.
constexpr Grid vector_product_grid(Index rows, Index vectors) {
    return {divide_up(rows, product_warps * product_rows_a_warp), vectors};
}
/// solve_block_kernel.
constexpr Grid solve_block_grid(Index vectors) { return {vectors}; }

inline constexpr int split_threads = 128, split_rows = 4;
/// split_kernel and largest_of_operand_kernel, whose threads take `pack` neighbours. Steps in y.
constexpr Grid split_grid(Index columns, Index rows, Index width, Index pack) {
    return {columns * divide_up(width, split_threads * pack), std::min(divide_up(rows, split_rows), most_blocks_yz)};
}

// ---- mixed/ ---------------------------------------------------------------------------------------------

inline constexpr int measured_warps = 8, measured_rows = 8;
/// measure_kernel.
constexpr Grid measured_grid(Index rows) { return {divide_up(rows, measured_rows)}; }
inline constexpr int rounded_columns = 128, rounded_rows = 8;
/// round_kernel. Steps in y.
constexpr Grid rounded_grid(Index rows, Index cols) {
    return {divide_up(cols, rounded_columns), std::min(divide_up(rows, rounded_rows), most_blocks_yz)};
}

// ---- panel/ ---------------------------------------------------------------------------------------------

inline constexpr int step_threads = 256;
inline constexpr Index searched_rows = 1024;  ///< of a block
/// search_kernel.
constexpr Grid search_grid(Index rows) { return {divide_up(rows, searched_rows)}; }
/// eliminate_kernel, whose blocks have `rows_at_once` rows at a time. Steps in x.
constexpr Grid elimination_grid(Index rows, Index rows_at_once) {
    constexpr Index enough = 1024;  // fill any GPU several times over
    return {std::min(divide_up(rows, rows_at_once), enough)};
}

inline constexpr int interchange_strip = 32;  ///< columns of a block
/// interchange_kernel.
constexpr Grid interchange_grid(Index cols) { return {divide_up(cols, interchange_strip)}; }

/// leading_kernel: clusters of blocks that share `rows`, for most_blocks_yz strips of columns at most.
constexpr Grid leading_grid(Index rows, Index rows_a_block, Index strips) {
    return {divide_up(rows, rows_a_block), strips};
}

// ---- cholesky/ ------------------------------------------------------------------------------------------

/// rows_kernel, whose blocks solve for `solved_rows` rows.
constexpr Grid solved_rows_grid(Index rows, Index solved_rows) { return {divide_up(rows, solved_rows)}; }
/// band_kernel. Steps in x.
constexpr Grid band_grid(Index rows) { return {std::min<Index>(rows, Index{1} << 20)}; }

// ---- qr/ ------------------------------------------------------------------------------------------------

/// store_kernel and explicit_kernel. Step in x.
constexpr Grid reflector_rows_grid(Index rows) { return {std::min<Index>(rows, 4096)}; }
/// Kernels that share out the rows of a leaf among blocks that all run at once.
constexpr Grid shared_rows_grid(Index rows, Index rows_a_block, Index most_blocks) {
    return {std::clamp<Index>(divide_up(rows, rows_a_block), 1, most_blocks)};
}
/// compress_kernel and sum_kernel.
constexpr Grid elements_grid(Index elements, Index elements_a_block) { return {divide_up(elements, elements_a_block)}; }
/// place_kernel and place_wide_kernel: a block a row.
constexpr Grid placed_rows_grid(Index rows) { return {rows}; }

// ---- batch/ ---------------------------------------------------------------------------------------------

/// Kernels whose blocks have as many matrices each.
constexpr Grid batch_grid(Index count, Index matrices_a_block) { return {divide_up(count, matrices_a_block)}; }

}  // namespace basalt::cuda_detail
