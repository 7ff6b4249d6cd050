#pragma once

#include <cstddef>

#include "kernels/row_moves.hpp"

/// From interchanges to moves, by a block of threads.
namespace basalt::cuda_detail {

/// Four numbers of a list, whose length is rounded up to a multiple of four and filled with -1.
struct FourPivots {
    int4 value;
    __device__ bool holds(int x) const { return value.x == x || value.y == x || value.z == x || value.w == x; }
    __device__ int operator[](int q) const { return q == 0 ? value.x : q == 1 ? value.y : q == 2 ? value.z : value.w; }
};

/// The row whose contents row `step` holds just before that step: step by step back to the row they started
/// from.
__device__ inline int held_before(int step, const int* parent) {
    while (parent[step] >= 0) step = parent[step];
    return step;
}

/// Bytes of shared memory that find_row_moves() takes for `count` interchanges.
constexpr std::size_t row_moves_shared(int count) {
    return 2 * sizeof(int4) * static_cast<std::size_t>((count + 3) / 4);
}

/// Writes what the moves.count interchanges `pivots` move. Each thread looks through the whole list for the steps that
/// exchanged with row k and with row pivots[k] (kernels/cpu/rows/row_exchange.cpp has the reasoning). All that are
/// wanted are first and last ones, so the order of threads does not matter. Called by all threads of the block.
/// `pivots` were written before the kernel, or by this block before a barrier; `shared`: row_moves_shared() bytes for
/// this alone.
__device__ inline void find_row_moves(const Index* pivots, RowMoves moves, int4* shared) {
    const int count = static_cast<int>(moves.count), fours = (count + 3) / 4;
    int* const pivot = reinterpret_cast<int*>(shared);
    int* const parent = pivot + 4 * fours;
    for (int k = threadIdx.x; k < 4 * fours; k += blockDim.x) pivot[k] = k < count ? static_cast<int>(pivots[k]) : -1;
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
        const int row = pivot[k];
        int previous = -1, last = -1, exchanged_k = -1;
        for (int f = 0; f < fours; ++f) {
            const FourPivots four{shared[f]};
            if (!four.holds(row) && !four.holds(k)) continue;
            for (int q = 0; q < 4; ++q) {
                const int step = 4 * f + q;
                if (four[q] == row) last = step;
                if (four[q] == row && step < k) previous = step;
                if (four[q] == k && step < k) exchanged_k = step;
            }
        }
        parent[k] = exchanged_k;
        moves.top_source[k] = previous;
        moves.refill[k] = last;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += blockDim.x) {
        const int row = pivot[k], previous = static_cast<int>(moves.top_source[k]),
                  last = static_cast<int>(moves.refill[k]);
        moves.top_source[k] = previous < 0 ? row : held_before(previous, parent);
        moves.refill[k] = previous < 0 && row >= count ? held_before(last, parent) : -1;
    }
}

}  // namespace basalt::cuda_detail
