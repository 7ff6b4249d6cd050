#pragma once

#include "kernels/cuda/grids.hpp"

namespace basalt::cuda_detail {

// A square that a block moves through shared memory, and its threads: lanes along lines, which are rows or columns.
constexpr int square_lanes = 32;
constexpr int square_lines = 8;
constexpr int square_threads = square_lanes * square_lines;
constexpr int square_blocks = 4;  ///< of a multiprocessor

/// use(i, j) for a thread's elements of a square: line i and element j, both counted from its first.
template <class F>
__device__ void for_each_element(const F& use) {
#pragma unroll
    for (int i = 0; i < square_side; i += square_lines) {
#pragma unroll
        for (int j = 0; j < square_side; j += square_lanes) use(i, j);
    }
}

}  // namespace basalt::cuda_detail
