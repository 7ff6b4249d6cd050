#pragma once

#include "kernels/cuda/panel/leaf.cuh"
#include "kernels/cuda/panel/product.hpp"
#include "kernels/cuda/panel/shape.hpp"

/// What a team of blocks does to a panel between its leaves.
namespace basalt::cuda_detail {

/// U for an update.
template <class T>
struct ProductShared {
    alignas(16) T u[product_cols / strip_cols][strip_size];
};

/// U and the triangle of an update of up to 32 columns, which leaves the next leaf's columns in the staging buffer
/// unless they are too few for a product in tensor cores; of wider leaves nothing.
template <class T, int leaf_width, bool narrow = leaf_width <= strip_cols>
struct FewShared {
    static constexpr bool exists = true, stages = leaf_width >= unit_rows;
    alignas(16) T u[strip_cols * shared_ld];
    alignas(16) T l[triangle_size<T>(strip_cols)];
};
template <class T, int leaf_width>
struct FewShared<T, leaf_width, false> {
    static constexpr bool exists = false, stages = false;
};

/// Moves the rows of all columns outside [col, col + count) as the leaf's interchanges of `pivots` rows did inside.
/// Columns are dealt to blocks, a few at a time. All that a block reads is on its way before it writes.
template <class T, int width>
__device__ __forceinline__ void move_rows(PanelView<T> panel, int col, int count, int pivots,
                                          const LeafMoves<width>& moves, int rank, int size, BlockThread thread) {
    constexpr int lines = 2 * width, at_once = team_threads / lines, rounds = 4;
    const int line = thread.number / at_once % width, others = panel.cols - count;
    const bool of_top = thread.number / at_once >= width;
    int from = 0, to = 0;
    if (line < pivots) {
        from = of_top ? col + line : moves.pivot_source[line];
        to = of_top ? moves.top_target[line] : col + line;
        if (of_top && to < col + pivots) to = from;
    }
    const auto at = [&](int row, int number) { return panel.at(row, number < col ? number : number + count); };
#pragma unroll 1
    for (int first = rank * at_once; first < others; first += rounds * size * at_once) {
        T values[rounds];
        const int number = first + thread.number % at_once;
#pragma unroll
        for (int n = 0; n < rounds; ++n) {
            const int other = number + n * size * at_once;
            if (from != to && other < others) values[n] = *at(from, other);
        }
        __syncthreads();
#pragma unroll
        for (int n = 0; n < rounds; ++n) {
            const int other = number + n * size * at_once;
            if (from != to && other < others) *at(to, other) = values[n];
        }
    }
}

/// Of columns [right, right + cols) by the `order` columns left of them: U takes the place of A in rows
/// [top, top + order). Fewer rows than columns where the panel ends.
struct PanelUpdate {
    int top, order, right, cols;
};

/// U in shared memory. A function of its own, which the program contains once; arguments give places in shared memory.
template <class T>
__device__ __noinline__ void solve_for(PanelView<T> panel, PanelUpdate update, int u, int l, BlockThread thread) {
    const T* const triangle = panel.at(update.top, update.top);
    const T* const right = panel.at(update.top, update.right);
    solve_in_shared(thread, triangle, right, panel.ld, update.order, update.cols,
                    reinterpret_cast<T*>(dynamic_shared() + u), reinterpret_cast<T*>(dynamic_shared() + l));
}

/// Rows first, first + step, ... of U to the panel.
template <class T>
__device__ __forceinline__ void store_u(const PanelView<T> panel, const PanelUpdate& update, const T* u, int first,
                                        int step, BlockThread thread) {
#pragma unroll 1
    for (int row = first + thread.warp * step; row < update.order; row += team_warps * step) {
        for (int col = thread.lane; col < update.cols; col += warp_lanes) {
            *panel.at(update.top + row, update.right + col) =
                u[col / strip_cols * strip_size + row * shared_ld + thread.lane];
        }
    }
}

/// A(rows, right ..) -= L(rows, top ..) U, with U in shared memory, for a block of up to `most_rows` rows.
template <int most_rows, class T>
__device__ __forceinline__ void multiply(const PanelView<T> panel, BlockRows rows, const PanelUpdate& update,
                                         const T* u, BlockThread thread) {
    // Plain products wait for U in shared memory: two units share each element read. In tensor cores the last step is
    // code of its own where a block has many rows.
    constexpr int tiles = 2 * unit_tiles, units = in_tensor_cores<T> ? 1 : 2;
    constexpr bool peeled = in_tensor_cores<T> && most_rows > team_threads;
    const int order = update.right - update.top;
#pragma unroll 1
    for (int done = 0; done < update.cols; done += tiles * tile_cols) {
        subtract_product<units, tiles, false, peeled>(thread, panel.at(rows.begin, update.top), panel.ld, rows.count(),
                                                      order, order + done, update.cols - done,
                                                      u + done / strip_cols * strip_size, Staging<T>{});
    }
}

/// The same for up to 32 columns. The first columns go to the staging buffer if it is `staged`.
template <bool staged, class T>
__device__ __forceinline__ void multiply_few(const PanelView<T> panel, BlockRows rows, const PanelUpdate& update,
                                             const T* u, const Staging<T>& staging, BlockThread thread) {
    T* const l = panel.at(rows.begin, update.top);
    const int order = update.right - update.top;
    if (!staged && order < unit_rows) {
        subtract_narrow_product(thread, l, panel.ld, rows.count(), order, update.cols, u);
    } else if (update.cols <= 2 * tile_cols) {
        subtract_product<4, 2, staged, false>(thread, l, panel.ld, rows.count(), order, order, update.cols, u, staging);
    } else {
        subtract_product<2, 4, staged, false>(thread, l, panel.ld, rows.count(), order, order, update.cols, u, staging);
    }
}

}  // namespace basalt::cuda_detail
