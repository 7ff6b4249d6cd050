#pragma once

#include <algorithm>

#include "kernels/cuda/cholesky/schedule.hpp"

/// 16 rows of a square in the registers of a warp: loaded from the panel, solved for, stored.
namespace basalt::cuda_detail::cholesky {

/// A lane's part of 16 rows of a square, as mma.m16n8k8 has it: tiles of 8 columns from left to right. A tile can be
/// the left operand of a product as it is, since the lane's columns 2t and 2t + 1 of it are what operand() takes of
/// one.
struct RowsOfSquare {
    Part tiles[side_tiles];
};

BASALT_DEVICE Part difference(const Part& a, const Part& b) {
    return {{a.upper[0] - b.upper[0], a.upper[1] - b.upper[1]}, {a.lower[0] - b.lower[0], a.lower[1] - b.lower[1]}};
}
BASALT_DEVICE Part negative(const Part& p) { return {{-p.upper[0], -p.upper[1]}, {-p.lower[0], -p.lower[1]}}; }

/// sum += A B^T over 8 columns, A being a lane's part of a tile.
template <class T, class Thread>
BASALT_DEVICE void add_product(const Thread& thread, Part& sum, const Part& a, Pair<T> b) {
    thread.mma_16x8x8(sum.upper[0], sum.upper[1], sum.lower[0], sum.lower[1], a.upper[0], a.lower[0], a.upper[1],
                      a.lower[1], static_cast<double>(b.first), static_cast<double>(b.second));
}

/// The 16 x 8 tiles of a panel from row `row` and column `col` on, for elements of the lower triangle above row and
/// left of column `row_end` and `col_end`.
template <bool wide, class T>
struct PanelTiles {
    T* a;
    Index ld;
    int row, row_end, col, col_end;

    BASALT_DEVICE static PanelTiles of(const FusedPanel<T>& p, int row, int row_end, int block_col) {
        return {p.a, p.ld, row, row_end, p.squares.first_col(block_col), p.squares.first_col(block_col + 1)};
    }

    /// A lane's part of `count` tiles, the first being number `first`.
    template <int count>
    BASALT_DEVICE void load(int lane, int first, Part* parts) const {
        if (has_all(first, count)) {
            load_below<count>(lane, first, parts);
        } else {
            const int i = row + lane / 4, j = col + first * 8 + 2 * (lane % 4);
            BASALT_UNROLL
            for (int n = 0; n < count; ++n) {
                parts[n] = {};
                load(i, j + n * 8, parts[n].upper);
                load(i + 8, j + n * 8, parts[n].lower);
            }
        }
    }
    /// Where all columns exist and lie left of the diagonal; rows below the last one are copies of it.
    template <int count>
    BASALT_DEVICE void load_below(int lane, int first, Part* parts) const {
        const int i = row + lane / 4;
        const T* const left = a + col + first * 8 + 2 * (lane % 4);
        const T* const upper = left + std::min(i, row_end - 1) * ld;
        const T* const lower = left + std::min(i + 8, row_end - 1) * ld;
        Pair<T> pairs[count][2];
        BASALT_UNROLL
        for (int n = 0; n < count; ++n) {  // no branch between them, so that all are on their way at once
            pairs[n][0] = load_pair<wide>(upper + n * 8);
            pairs[n][1] = load_pair<wide>(lower + n * 8);
        }
        BASALT_UNROLL
        for (int n = 0; n < count; ++n) {
            parts[n] = {{static_cast<double>(pairs[n][0].first), static_cast<double>(pairs[n][0].second)},
                        {static_cast<double>(pairs[n][1].first), static_cast<double>(pairs[n][1].second)}};
        }
    }
    BASALT_DEVICE void store(int lane, int n, const Part& part) const {
        store(row + lane / 4, col + n * 8 + 2 * (lane % 4), part.upper);
        store(row + lane / 4 + 8, col + n * 8 + 2 * (lane % 4), part.lower);
    }

  private:
    BASALT_DEVICE bool has(int i, int j) const { return i < row_end && j < col_end && j <= i; }
    BASALT_DEVICE bool has_all(int first, int count) const {
        return row + 15 < row_end && has(row, col + (first + count) * 8 - 1);
    }
    BASALT_DEVICE void load(int i, int j, double (&values)[2]) const {
        const T* const at = a + i * ld + j;
        if (has(i, j + 1)) {
            const Pair<T> pair = load_pair<wide>(at);
            values[0] = static_cast<double>(pair.first), values[1] = static_cast<double>(pair.second);
        } else if (has(i, j)) {
            values[0] = static_cast<double>(*at);
        }
    }
    BASALT_DEVICE void store(int i, int j, const double (&values)[2]) const {
        T* const at = a + i * ld + j;
        if (has(i, j + 1)) {
            store_pair<wide>(at, Pair<T>{static_cast<T>(values[0]), static_cast<T>(values[1])});
        } else if (has(i, j)) {
            *at = static_cast<T>(values[0]);
        }
    }
};

/// x := x L^-T by substitution for 16 rows and the tile L at `l`, `order` of whose columns are there. Rare, and so a
/// call, so that the surrounding code keeps its registers.
template <class T, class Thread>
BASALT_DEVICE_CALL void substitute(Thread thread, Part* x, const T* l, Index ld, int order) {
    const int own = thread.lane % 4;
    BASALT_UNROLL
    for (int n = 0; n < tile / 8; ++n) {
        BASALT_ROLLED
        for (int t = 0; t < 4; ++t) {
            BASALT_UNROLL
            for (int e = 0; e < 2; ++e) {
                const int k = 8 * n + 2 * t + e;
                if (k >= order) return;
                const double pivot = static_cast<double>(l[k * ld + k]);
                const double upper = thread.from_lane(x[n].upper[e], thread.lane - own + t) / pivot;
                const double lower = thread.from_lane(x[n].lower[e], thread.lane - own + t) / pivot;
                if (own == t) x[n].upper[e] = upper, x[n].lower[e] = lower;
                BASALT_UNROLL
                for (int m = n; m < tile / 8; ++m) {
                    BASALT_UNROLL
                    for (int f = 0; f < 2; ++f) {
                        const int col = 8 * m + 2 * own + f;
                        if (col <= k || col >= order) continue;
                        const double multiplier = static_cast<double>(l[col * ld + k]);
                        x[m].upper[f] -= upper * multiplier;
                        x[m].lower[f] -= lower * multiplier;
                    }
                }
            }
        }
    }
}

/// Where a warp that solves has a leaf from: the device's memory.
template <bool wide, class T>
struct StoredLeaf {
    Leaf<T, tile> l;

    /// A lane's operands of L's rows from `row` on, and of its tiles' inverses in the leaf's rows.
    BASALT_DEVICE Pair<T> factor(int lane, int row, int col) const {
        return operand<wide>(lane, l.a + std::min(row + lane / 4, l.order - 1) * l.ld, col);
    }
    BASALT_DEVICE Pair<T> inverse(int lane, int row, int col) const {
        return operand<true>(lane, l.inverses + (row + lane / 4) * tile, col);
    }
};

/// The same in the shared memory where it was factored, and an inverse's columns are rows behind it.
template <class T>
struct SharedLeaf {
    Leaf<T, tile> l;
    const T* identity;

    BASALT_DEVICE Pair<T> factor(int lane, int row, int col) const {
        return operand<true>(lane, l.a + (row + lane / 4) * l.ld, col);
    }
    BASALT_DEVICE Pair<T> inverse(int lane, int row, int col) const {
        const int own = row + lane / 4, first = col + 2 * (lane % 4), last = own % tile;
        const T* const at = identity + first * l.ld + own;
        return {first <= last ? at[0] : T{0}, first < last ? at[l.ld] : T{0}};
    }
};

/// Which of a leaf's tiles are solved for by their inverses.
struct ByInverse {
    int first, second;

    template <class T>
    BASALT_DEVICE static ByInverse of(const Leaf<T, tile>& l) {
        return {l.use_inverse[0], l.use_inverse[l.order > tile ? 1 : 0]};
    }
};

/// rows := rows L^-T for a warp's 16 rows: P_t = (A_t - P_0 L_t0^T) L_tt^-T, tile by tile of the leaf.
template <class T, class Thread, class From>
BASALT_DEVICE void solve_in_registers(const Thread& thread, RowsOfSquare& rows, const From& leaf,
                                      const Leaf<T, tile>& l, ByInverse by_inverse) {
    constexpr int steps = tile / 8;
    BASALT_UNROLL
    for (int top = 0; top < side; top += tile) {
        if (top >= l.order) return;
        Part* const own = rows.tiles + top / 8;
        BASALT_UNROLL
        for (int s = 0; s < top / 8; ++s) {
            const Part factor = negative(rows.tiles[s]);
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) {
                add_product(thread, own[n], factor, leaf.factor(thread.lane, top + n * 8, s * 8));
            }
        }
        if ((top == 0 ? by_inverse.first : by_inverse.second) != 0) {
            // a column of tiles gets those on its left, which still are right-hand sides if it is the last one first
            BASALT_UNROLL
            for (int n = steps - 1; n >= 0; --n) {
                Part solved{};
                BASALT_UNROLL
                for (int s = 0; s <= n; ++s) {
                    add_product(thread, solved, own[s], leaf.inverse(thread.lane, top + n * 8, s * 8));
                }
                own[n] = solved;
            }
        } else {
            Part in_memory[steps];
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) in_memory[n] = own[n];
            substitute(thread, in_memory, l.a + top * l.ld + top, l.ld, l.order - top);
            BASALT_UNROLL
            for (int n = 0; n < steps; ++n) own[n] = in_memory[n];
        }
    }
}

}  // namespace basalt::cuda_detail::cholesky
