#pragma once

#include "kernels/cuda/pair.hpp"
#include "kernels/cuda/qr_leaf_block.hpp"

/// What a block computes on rows of a leaf, written without CUDA so that a test can run it on the host: `Thread` is a
/// thread of the block (`warp`, `warps`, `lane`, `sync()`, `mma_16x8x8()`). Elements go from the device's memory to
/// registers, a pair of neighbours to a lane, and are multiplied there: which lane has what mma.m16n8k8 says, which rows
/// and columns these are is ours to choose. Single precision is multiplied in double, which tensor cores do as fast.
namespace basalt::cuda_detail {

constexpr int row_lanes = 32;
constexpr int col_groups = leaf_order / 8;  // as wide as a product's tile
constexpr int triangle_fragments = col_groups * col_groups * row_lanes;

/// Elements (row, col) and (row, col + 1); zeros outside. `whole`: a leaf of full width whose pairs are aligned.
template <bool whole, class T>
BASALT_DEVICE Pair<double> load_row_pair(const View<const T>& a, Index row, int col) {
    const T* const at = a.data() + row * a.row_stride() + col;
    if (row >= a.rows()) return {0, 0};
    if constexpr (whole) {
        const Pair<T> pair = load_pair<true>(at);
        return {static_cast<double>(pair.first), static_cast<double>(pair.second)};
    }
    return {col < a.cols() ? static_cast<double>(at[0]) : 0, col + 1 < a.cols() ? static_cast<double>(at[1]) : 0};
}

template <bool whole, class T>
BASALT_DEVICE void store_row_pair(const View<T>& a, Index row, int col, double first, double second) {
    T* const at = a.data() + row * a.row_stride() + col;
    if (row >= a.rows()) return;
    if constexpr (whole) {
        store_pair<true>(at, Pair<T>{static_cast<T>(first), static_cast<T>(second)});
        return;
    }
    if (col < a.cols()) at[0] = static_cast<T>(first);
    if (col + 1 < a.cols()) at[1] = static_cast<T>(second);
}

// --- Gram matrices ---

/// The leaf's column that is number n of a product's group: of neighbours each is in one of two groups.
BASALT_DEVICE constexpr int gram_col(int group, int n) { return group / 2 * 16 + 2 * n + group % 2; }

constexpr int gram_sides = col_groups / 2;  // 16 rows of the Gram matrix each
constexpr int gram_tiles = 20;              // 16 x 8 each, from the diagonal on
constexpr int gram_rows = 8;                // of the leaf, in a product

/// visit(number, side, group) for the tiles.
template <class F>
BASALT_DEVICE void for_gram_tiles(F visit) {
    int number = 0;
    BASALT_UNROLL
    for (int side = 0; side < gram_sides; ++side) {
        BASALT_UNROLL
        for (int group = 2 * side; group < col_groups; ++group) visit(number++, side, group);
    }
}

/// A lane's elements of 8 rows: of groups, in the rows that its number in four names and four behind. They are the
/// right operand of a product and, two groups at once, the left one, transposed.
struct GramOperand {
    double at[col_groups][2];
};

template <bool whole, class T>
BASALT_DEVICE GramOperand load_gram_rows(int lane, const View<const T>& a, Index first) {
    GramOperand x;
    BASALT_UNROLL
    for (int half = 0; half < 2; ++half) {
        BASALT_UNROLL
        for (int group = 0; group < col_groups; group += 2) {
            const Pair<double> pair =
                load_row_pair<whole, T>(a, first + lane % 4 + 4 * half, gram_col(group, lane / 4));
            x.at[group][half] = pair.first;
            x.at[group + 1][half] = pair.second;
        }
    }
    return x;
}

/// part = A^T A, w x w and dense, for the rows of a block. The sums of its warps are added in order.
template <bool whole, class T, class Thread>
BASALT_DEVICE void gram_block(const Thread& thread, View<const T> a, T* part, Square<double> total) {
    double sums[gram_tiles][4] = {};
    const Index step = static_cast<Index>(thread.warps) * gram_rows;
    GramOperand next = load_gram_rows<whole, T>(thread.lane, a, static_cast<Index>(thread.warp) * gram_rows);
    for (Index row = static_cast<Index>(thread.warp) * gram_rows; row < a.rows(); row += step) {
        const GramOperand x = next;
        next = load_gram_rows<whole, T>(thread.lane, a, row + step);
        for_gram_tiles([&](int number, int side, int group) {
            double(&c)[4] = sums[number];
            thread.mma_16x8x8(c[0], c[1], c[2], c[3], x.at[2 * side][0], x.at[2 * side + 1][0], x.at[2 * side][1],
                              x.at[2 * side + 1][1], x.at[group][0], x.at[group][1]);
        });
    }
    for (int warp = 0; warp < thread.warps; ++warp) {
        if (warp == thread.warp) {
            for_gram_tiles([&](int number, int side, int group) {
                BASALT_UNROLL
                for (int e = 0; e < 4; ++e) {
                    double& sum = total(gram_col(2 * side + e / 2, thread.lane / 4),
                                        gram_col(group, thread.lane % 4 * 2 + e % 2));
                    sum = (warp == 0 ? 0 : sum) + sums[number][e];
                }
            });
        }
        thread.sync();
    }
    const int w = static_cast<int>(a.cols());
    for (int n = thread.warp * row_lanes + thread.lane; n < w * w; n += thread.warps * row_lanes) {
        const int i = n / w, j = n % w;
        part[n] = static_cast<T>(i <= j ? total(i, j) : total(j, i));
    }
}

// --- products with a triangle ---

/// The upper triangle Y (w x w, dense) as the right operand of products, for all warps: fragments[(k, j) * lanes + lane]
/// are the rows 8 k + 2 (lane % 4) and the one below it, in column 8 j + lane / 4.
template <class T, class Thread>
BASALT_DEVICE void load_triangle(const Thread& thread, int w, const T* y, Pair<double>* fragments) {
    for (int n = thread.warp * row_lanes + thread.lane; n < triangle_fragments; n += thread.warps * row_lanes) {
        const int lane = n % row_lanes, group = n / row_lanes, row = group / col_groups * 8 + 2 * (lane % 4),
                  col = group % col_groups * 8 + lane / 4;
        const auto element = [&](int i) { return i < w && col < w ? static_cast<double>(y[i * w + col]) : 0; };
        fragments[n] = {element(row), element(row + 1)};
    }
    thread.sync();
}

/// C = A Y for the rows of a block. C may be A: a lane stores where it has loaded itself.
template <bool whole, class T, class Thread>
BASALT_DEVICE void multiply_block(const Thread& thread, View<const T> a, const Pair<double>* y, View<T> c) {
    constexpr int rows = 16;
    const int place = thread.lane / 4, col = thread.lane % 4 * 2;
    for (Index first = static_cast<Index>(thread.warp) * rows; first < a.rows(); first += static_cast<Index>(thread.warps) * rows) {
        const Index upper = first + place, lower = upper + 8;
        Pair<double> x[col_groups][2];
        BASALT_UNROLL
        for (int k = 0; k < col_groups; ++k) {
            x[k][0] = load_row_pair<whole, T>(a, upper, 8 * k + col);
            x[k][1] = load_row_pair<whole, T>(a, lower, 8 * k + col);
        }
        BASALT_UNROLL
        for (int j = 0; j < col_groups; ++j) {
            double sums[4] = {};
            BASALT_UNROLL
            for (int k = 0; k <= j; ++k) {
                const Pair<double> b = y[(k * col_groups + j) * row_lanes + thread.lane];
                thread.mma_16x8x8(sums[0], sums[1], sums[2], sums[3], x[k][0].first, x[k][1].first, x[k][0].second,
                                  x[k][1].second, b.first, b.second);
            }
            store_row_pair<whole, T>(c, upper, 8 * j + col, sums[0], sums[1]);
            store_row_pair<whole, T>(c, lower, 8 * j + col, sums[2], sums[3]);
        }
    }
}

}  // namespace basalt::cuda_detail
