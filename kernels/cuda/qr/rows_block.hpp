#pragma once

#include "kernels/cuda/common/pair.hpp"
#include "kernels/cuda/qr/leaf_block.hpp"

/// What a block computes on rows of a leaf, written without CUDA so that a test can run it on the host:
/// `Thread` is a thread of the block (`warp`, `warps`, `lane`, `sync()`, `copy()`, `wait_for_copies()`,
/// `mma_16x8x8()`). Elements go from the device's memory to registers, a pair of neighbours to a lane (by way
/// of shared memory where several warps want them), and are multiplied there: which lane has what
/// mma.m16n8k8 says, which rows and columns these are is ours to choose. Single precision is multiplied in
/// double, which tensor cores do as fast.
namespace basalt::cuda_detail {

constexpr int wide_order = qr_wide_width;
constexpr int row_lanes = 32;
constexpr int group_width = 8;  // columns of a product's tile
constexpr int groups_of(int order) { return order / group_width; }

/// Elements (row, col) and (row, col + 1); zeros outside. `whole`: a leaf of full width whose pairs are
/// aligned.
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

constexpr int gram_rows = 8;  // of the leaf, in a product
constexpr int leaf_groups = groups_of(leaf_order);
constexpr int gram_sides = leaf_groups / 2;  // 16 rows of the Gram matrix each
constexpr int gram_tiles = 20;               // 16 x 8 each, from the diagonal on

/// visit(number, side, group) for the tiles.
template <class F>
BASALT_DEVICE void for_gram_tiles(F visit) {
    int number = 0;
    BASALT_UNROLL
    for (int side = 0; side < gram_sides; ++side) {
        BASALT_UNROLL
        for (int group = 2 * side; group < leaf_groups; ++group) visit(number++, side, group);
    }
}

/// Element e of a lane's four of a tile: where it is in the Gram matrix.
BASALT_DEVICE constexpr int tile_row(int lane, int side, int e) { return gram_col(2 * side + e / 2, lane / 4); }
BASALT_DEVICE constexpr int tile_col(int lane, int group, int e) { return gram_col(group, lane % 4 * 2 + e % 2); }

/// A lane's elements of 8 rows in two neighbouring groups: in row lane % 4 and the row four below
/// it. Each group is a right operand of a product; both are a left one, transposed.
struct GramOperand {
    Pair<double> upper, lower;
};

/// C += X^T Y for the left group of Y, or the right one.
template <class Thread>
BASALT_DEVICE void add_gram_tile(const Thread& thread, double (&c)[4], const GramOperand& x, const GramOperand& y,
                                 bool right) {
    thread.mma_16x8x8(c[0], c[1], c[2], c[3], x.upper.first, x.upper.second, x.lower.first, x.lower.second,
                      right ? y.upper.second : y.upper.first, right ? y.lower.second : y.lower.first);
}

struct GramRows {
    GramOperand at[gram_sides];
};

template <bool whole, class T>
BASALT_DEVICE GramRows load_gram_rows(int lane, const View<const T>& a, Index first) {
    GramRows x;
    BASALT_UNROLL
    for (int side = 0; side < gram_sides; ++side) {
        const int col = gram_col(2 * side, lane / 4);
        x.at[side] = {load_row_pair<whole, T>(a, first + lane % 4, col),
                      load_row_pair<whole, T>(a, first + lane % 4 + 4, col)};
    }
    return x;
}

/// part = A^T A, w x w and dense, for the rows of a block. Its warps have rows of their own, and their sums
/// are added in order.
template <bool whole, class T, class Thread>
BASALT_DEVICE void gram_block(const Thread& thread, View<const T> a, T* part, Square<double> total) {
    double sums[gram_tiles][4] = {};
    const Index step = static_cast<Index>(thread.warps) * gram_rows;
    GramRows next = load_gram_rows<whole, T>(thread.lane, a, static_cast<Index>(thread.warp) * gram_rows);
    for (Index row = static_cast<Index>(thread.warp) * gram_rows; row < a.rows(); row += step) {
        const GramRows x = next;
        next = load_gram_rows<whole, T>(thread.lane, a, row + step);
        for_gram_tiles([&](int number, int side, int group) {
            add_gram_tile(thread, sums[number], x.at[side], x.at[group / 2], group % 2 == 1);
        });
    }
    for (int warp = 0; warp < thread.warps; ++warp) {
        if (warp == thread.warp) {
            for_gram_tiles([&](int number, int side, int group) {
                BASALT_UNROLL
                for (int e = 0; e < 4; ++e) {
                    double& sum = total(tile_row(thread.lane, side, e), tile_col(thread.lane, group, e));
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

/// Rows of a wide leaf on their way through shared memory, in two places by turns. Lanes that load pairs,
/// from four rows, meet in no bank.
template <class T>
struct WideStage {
    static constexpr int rows = 16, ld = wide_order + 32 / static_cast<int>(sizeof(T));
    static constexpr int elements = 2 * rows * ld;
    T* at;

    BASALT_DEVICE T* place(int stage, int row, int col) const { return at + (stage % 2 * rows + row) * ld + col; }
    BASALT_DEVICE Pair<double> pair(int stage, int row, int col) const {
        const Pair<T> p = load_pair<true>(place(stage, row, col));
        return {static_cast<double>(p.first), static_cast<double>(p.second)};
    }
};

/// Starts the copy of rows from `stage` times as many on.
template <bool whole, class T, class Thread>
BASALT_DEVICE void load_stage(const Thread& thread, const View<const T>& a, int stage, const WideStage<T>& to) {
    constexpr int pairs = wide_order / 2;
    for (int n = thread.warp * row_lanes + thread.lane; n < to.rows * pairs; n += thread.warps * row_lanes) {
        const int i = n / pairs, col = n % pairs * 2;
        const Index row = static_cast<Index>(stage) * to.rows + i;
        if (whole && row < a.rows()) {
            thread.copy(to.place(stage, i, col), a.data() + row * a.row_stride() + col);
        } else {
            const Pair<double> pair = load_row_pair<false, T>(a, row, col);
            store_pair<true>(to.place(stage, i, col), Pair<T>{static_cast<T>(pair.first), static_cast<T>(pair.second)});
        }
    }
}

/// gram_block() for twice as many columns, by four warps that share the tiles: side p and the p-th from
/// behind are warp p's, 18 tiles in all.
template <bool whole, class T, class Thread>
BASALT_DEVICE void wide_gram_block(const Thread& thread, View<const T> a, T* part, const WideStage<T>& staged) {
    constexpr int sides = wide_order / 16, couples = sides + 1;  // of neighbouring tiles
    const int lane = thread.lane, near = thread.warp, far = sides - 1 - near;
    const auto is_far = [&](int n) { return n >= sides - near; };
    const auto groups_at = [&](int n) { return is_far(n) ? n - 1 : near + n; };  // two neighbours
    double sums[2 * couples][4] = {};
    const int stages = static_cast<int>((a.rows() + staged.rows - 1) / staged.rows);
    load_stage<whole, T>(thread, a, 0, staged);
    for (int stage = 0; stage < stages; ++stage) {
        thread.wait_for_copies();
        if (stage + 1 < stages) load_stage<whole, T>(thread, a, stage + 1, staged);
        BASALT_UNROLL
        for (int first = 0; first < staged.rows; first += gram_rows) {
            const auto load = [&](int groups) -> GramOperand {
                const int row = first + lane % 4, col = gram_col(2 * groups, lane / 4);
                return {staged.pair(stage, row, col), staged.pair(stage, row + 4, col)};
            };
            const GramOperand near_side = load(near), far_side = load(far);
            BASALT_UNROLL
            for (int n = 0; n < couples; ++n) {
                const GramOperand x = is_far(n) ? far_side : near_side, y = load(groups_at(n));
                add_gram_tile(thread, sums[2 * n], x, y, false);
                add_gram_tile(thread, sums[2 * n + 1], x, y, true);
            }
        }
    }
    const int w = static_cast<int>(a.cols());
    BASALT_UNROLL
    for (int n = 0; n < 2 * couples; ++n) {
        BASALT_UNROLL
        for (int e = 0; e < 4; ++e) {
            const int i = tile_row(lane, is_far(n / 2) ? far : near, e),
                      j = tile_col(lane, 2 * groups_at(n / 2) + n % 2, e);
            if (i <= j && j < w) part[i * w + j] = part[j * w + i] = static_cast<T>(sums[n][e]);
        }
    }
    thread.sync();  // the staged elements have been read
}

// --- products with a triangle ---

/// Tiles of an upper triangle; that of groups (k, j) is number j (j + 1) / 2 + k.
constexpr int triangle_tiles(int order) { return groups_of(order) * (groups_of(order) + 1) / 2; }
constexpr int triangle_fragments(int order) { return triangle_tiles(order) * row_lanes; }

/// The upper triangle Y (w x w, dense) as the right operand of products, for all warps: of tile (k, j) a lane
/// has the rows 8 k + 2 (lane % 4) and the one below it, in column 8 j + lane / 4.
template <int order, class T, class Thread>
BASALT_DEVICE void load_triangle(const Thread& thread, int w, const T* y, Pair<double>* fragments) {
    for (int j = 0, tile = 0; j < groups_of(order); ++j) {
        for (int k = 0; k <= j; ++k, ++tile) {
            if (tile % thread.warps != thread.warp) continue;
            const int row = 8 * k + 2 * (thread.lane % 4), col = 8 * j + thread.lane / 4;
            const auto element = [&](int i) { return i < w && col < w ? static_cast<double>(y[i * w + col]) : 0; };
            fragments[tile * row_lanes + thread.lane] = {element(row), element(row + 1)};
        }
    }
    thread.sync();
}

/// C = A Y for the rows of a block. C may be A: a lane stores where it has loaded itself.
template <int order, bool whole, class T, class Thread>
BASALT_DEVICE void multiply_block(const Thread& thread, View<const T> a, const Pair<double>* y, View<T> c) {
    constexpr int rows = 16, groups = groups_of(order);
    constexpr int at_once = 4;  // sums that do not wait for each other
    const int place = thread.lane / 4, col = thread.lane % 4 * 2;
    const Index step = static_cast<Index>(thread.warps) * rows;
    for (Index first = static_cast<Index>(thread.warp) * rows; first < a.rows(); first += step) {
        const Index upper = first + place, lower = upper + 8;
        Pair<double> x[groups][2];
        BASALT_UNROLL
        for (int k = 0; k < groups; ++k) {
            x[k][0] = load_row_pair<whole, T>(a, upper, 8 * k + col);
            x[k][1] = load_row_pair<whole, T>(a, lower, 8 * k + col);
        }
        BASALT_UNROLL
        for (int begin = 0; begin < groups; begin += at_once) {
            double sums[at_once][4] = {};
            BASALT_UNROLL
            for (int k = 0; k < begin + at_once; ++k) {
                BASALT_UNROLL
                for (int n = 0; n < at_once; ++n) {
                    const int j = begin + n;
                    if (k > j) continue;
                    const Pair<double> b = y[(j * (j + 1) / 2 + k) * row_lanes + thread.lane];
                    thread.mma_16x8x8(sums[n][0], sums[n][1], sums[n][2], sums[n][3], x[k][0].first, x[k][1].first,
                                      x[k][0].second, x[k][1].second, b.first, b.second);
                }
            }
            BASALT_UNROLL
            for (int n = 0; n < at_once; ++n) {
                store_row_pair<whole, T>(c, upper, 8 * (begin + n) + col, sums[n][0], sums[n][1]);
                store_row_pair<whole, T>(c, lower, 8 * (begin + n) + col, sums[n][2], sums[n][3]);
            }
        }
    }
}

}  // namespace basalt::cuda_detail
