#pragma once

#include <bit>

#include <basalt/view.hpp>

/// Parameters of the designs of an LU panel that bound registers and shared memory. The compiler has to know them, so
/// they stand here and not in the tuning tables (docs/decisions/0014). The leaves of the designs cluster and grid are
/// given by their variants (resident_launch.cuh).
namespace basalt::cuda_detail {

/// Design steps: widest leaf.
inline constexpr int steps_width = 16;

/// Design fused: columns of a leaf, each of which is a block of threads: the default, and the most.
inline constexpr int fused_width = 32;
inline constexpr int most_fused_width = 64;

/// Design fused: segments between two flags of a column that is updated greedily. The paper has a flag for each
/// segment; on a present-day GPU a flag takes as long as reading several segments.
inline constexpr int greedy_part = 4;

/// Design cluster: the number of blocks is a power of two, the next one to the number that the plan wishes.
inline constexpr int least_cluster = 4, most_cluster = 16;
constexpr int cluster_blocks(int wished) {
    return wished <= least_cluster ? least_cluster : static_cast<int>(std::bit_ceil(static_cast<unsigned>(wished)));
}

/// Designs cluster and grid: columns of U in shared memory for an update, or for a part of it while it is being solved
/// for, in front of the triangle.
inline constexpr int product_cols = 128;

/// Up to this order all blocks solve for all of U, so that they need not wait for each other: it is two strips, which
/// solve_in_shared() takes at once.
inline constexpr int most_solved_by_all = product_cols / 2;

/// Columns of one kernel, whose halves are updated at once. More would also keep its few multiprocessors with products
/// that the whole GPU does in less time.
inline constexpr Index resident_cols = 2 * product_cols;

}  // namespace basalt::cuda_detail
