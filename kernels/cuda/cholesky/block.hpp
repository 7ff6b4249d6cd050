#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include <basalt/view.hpp>

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/cuda/common/pair.hpp"
#include "kernels/inverted_block.hpp"

/// What the blocks of threads of a Cholesky panel have in common, and how one solves the rows below a leaf
/// (cholesky_leaf.hpp factors it), written without CUDA so that a test can run it on the host: `Thread` is a thread of
/// the block (`warp`, `warps`, `lane`, `sync()`, `meet()`, `reciprocal_root_estimate()`, `from_lane()`,
/// `mma_16x8x8()`).
///
/// Three levels of blocking, Abdelfattah et al. (section 6.3): a leaf (their rnb), in tiles (ib) whose inverses serve
/// the rows below, in groups (kb) of 8 columns. The first two are parameters (LeafShape), the groups are not.
namespace basalt::cuda_detail::cholesky {

constexpr int lanes = 32;

/// Columns eliminated with indices known to the compiler: those of a tensor core's operand, and the most whose triangle
/// fits into a thread's registers.
constexpr int group = 8;

/// Of a leaf of at most `most` columns: as many as fit into shared memory, whole warps with a row to each lane.
template <int most, int tile_order>
struct LeafShape {
    static constexpr int columns = most;
    static constexpr int tile = tile_order;  ///< a row of it to a lane, 16 of them to a product's fragment
    static constexpr int tiles = columns / tile;
    static constexpr int groups = tile / group;  ///< of a tile
    /// Of rows in shared memory: lanes that load pairs, each from a row of its own, meet in no bank.
    static constexpr int ld = columns + 2;

    static_assert(columns % lanes == 0 && columns % tile == 0 && tile % 16 == 0);
    static_assert(tile <= lanes && tile <= inverted_block, "a larger inverse would cost accuracy");
};

/// The inverse X of a tile L is used where max |L| max |X| does not exceed this; substitution otherwise. A product with
/// X leaves a residual of about max |L| max |X| rounding errors where substitution leaves one, and few are as large as
/// their bound: decision 11 has the measurements.
constexpr double largest_inverse = 64;

/// A tile L(j, j) for elimination.
template <class T, int tile>
struct TileColumns {
    alignas(16) T columns[tile * tile];  ///< column after column
    T reciprocal[tile];                  ///< 1 / L(k, k)
};

/// row -= l times column `column` of the tile, in the columns behind it: row[0] is column `first` of the tile, a
/// multiple of the group's.
template <int k, class T, int tile>
BASALT_DEVICE void subtract_column(T (&row)[tile], T l, const T* column, int groups_left) {
    BASALT_UNROLL
    for (int c = k + 1; c < group; ++c) row[c] -= l * column[c];
    BASALT_UNROLL
    for (int g = 1; g < tile / group; ++g) {
        if (g >= groups_left) break;
        BASALT_UNROLL
        for (int c = 0; c < group; c += 2) {
            const Pair<T> pair = load_pair<true>(column + g * group + c);
            row[g * group + c] -= l * pair.first;
            row[g * group + c + 1] -= l * pair.second;
        }
    }
}

/// row := row L(j, j)^-T in the columns of a group, `first` being its first one; the columns behind it get their share.
template <int k = 0, class T, int tile>
BASALT_DEVICE void solve_group(T (&row)[tile], const TileColumns<T, tile>& l, int first) {
    if constexpr (k < group) {
        const int col = first + k;
        row[k] *= l.reciprocal[col];
        subtract_column<k>(row, row[k], l.columns + col * tile + first, tile / group - first / group);
        solve_group<k + 1>(row, l, first);
    }
}

/// The group that was solved gives way to the next one.
template <class T, int tile>
BASALT_DEVICE void next_group(T (&row)[tile]) {
    BASALT_UNROLL
    for (int c = 0; c + group < tile; ++c) row[c] = row[c + group];
}

/// Two neighbours of a row of an operand, as one step of a product has them: mma.m16n8k8's columns t and t + 4 are
/// taken to be ours 2t and 2t + 1. Single precision is multiplied in double, which tensor cores do as fast.
template <bool wide, class T>
BASALT_DEVICE Pair<T> operand(int lane, const T* row, int col) {
    return load_pair<wide>(row + col + 2 * (lane % 4));
}

/// A lane's part of a 16 x 8 tile as mma.m16n8k8 has it: columns 2t and 2t + 1 of rows g and g + 8, lane = 4 g + t.
struct Part {
    double upper[2], lower[2];
};

/// part += A B^T over 8 columns from `col` on. `upper`, `lower`: the lane's rows g and g + 8 of A; b: its operand of
/// row g of B.
template <class T, class Thread>
BASALT_DEVICE void add_step(const Thread& thread, Part& part, const T* upper, const T* lower, int col, Pair<T> b) {
    const Pair<T> u = operand<true>(thread.lane, upper, col), l = operand<true>(thread.lane, lower, col);
    thread.mma_16x8x8(part.upper[0], part.upper[1], part.lower[0], part.lower[1], static_cast<double>(u.first),
                      static_cast<double>(l.first), static_cast<double>(u.second), static_cast<double>(l.second),
                      static_cast<double>(b.first), static_cast<double>(b.second));
}

/// A lane's pair of C less what its part has of it.
template <class T>
BASALT_DEVICE Pair<T> less(Pair<T> c, const double (&part)[2]) {
    return {static_cast<T>(static_cast<double>(c.first) - part[0]),
            static_cast<T>(static_cast<double>(c.second) - part[1])};
}

/// A leaf: the lower triangle of `a` (order x order, row-major, ld) becomes L. Of its tiles on the diagonal the
/// inverses go to `inverses` (tile x tile each, row-major, one after the other, those of a smaller last one filled up
/// with the identity), and to use_inverse whether they may be used.
template <class T, int tile>
struct Leaf {
    T* a;
    Index ld;
    int order;
    T* inverses;
    int* use_inverse;

    /// Order in whole tiles.
    BASALT_DEVICE int padded() const { return (order + tile - 1) / tile * tile; }
};

/// Rows of a block. A block of few threads, registers and bytes starts while an update runs on the multiprocessor; one
/// that needs a multiprocessor for itself waits until it is idle.
constexpr int solved_rows = 16;
template <class Shape>
constexpr int solving_warps = solved_rows / 16 * Shape::groups;

/// Of a block that solves for rows.
template <class T, class Shape>
struct RowsMemory {
    alignas(16) T right[solved_rows * Shape::ld];   ///< the right-hand sides, updated
    alignas(16) T solved[solved_rows * Shape::ld];  ///< P
    TileColumns<T, Shape::tile> diagonal;           ///< for substitution
};

/// P = A L^-T for `rows` rows (at most solved_rows) in place of A, L being a leaf with its inverses.
template <class T, class Shape>
struct Rows {
    T* a;
    Index ld;
    int rows;
    Leaf<const T, Shape::tile> l;
};

template <class T, class Shape, class Thread>
BASALT_DEVICE void load_rows(const Thread& thread, RowsMemory<T, Shape>& memory, const Rows<T, Shape>& r) {
    constexpr int warps = solving_warps<Shape>, own_rows = solved_rows / warps, parts = Shape::columns / lanes;
    T value[own_rows][parts];
    BASALT_UNROLL
    for (int n = 0; n < own_rows; ++n) {
        const int i = thread.warp + n * warps;
        BASALT_UNROLL
        for (int c = 0; c < parts; ++c) {
            const int j = c * lanes + thread.lane;
            value[n][c] = i < r.rows && j < r.l.order ? r.a[i * r.ld + j] : T{0};
        }
    }
    BASALT_UNROLL
    for (int n = 0; n < own_rows; ++n) {
        BASALT_UNROLL
        for (int c = 0; c < parts; ++c) {
            memory.right[(thread.warp + n * warps) * Shape::ld + c * lanes + thread.lane] = value[n][c];
        }
    }
}

/// What a warp multiplies P and the right-hand sides by to get its 16 x 8 of tile j of P: 8 rows of L left of its tile
/// on the diagonal, and of that one's inverse, which ends at the diagonal. They are on their way long before they are
/// waited for.
template <int j, class T, class Shape>
struct TileOperands {
    static constexpr int tile = Shape::tile, groups = Shape::groups;

    Pair<T> l[j > 0 ? j* groups : 1];
    Pair<T> inverse[groups];

    template <bool wide>
    BASALT_DEVICE void load(int lane, const Leaf<const T, tile>& leaf_of, int first) {
        if (j * tile >= leaf_of.order) return;
        const int row = j * tile + first + lane / 4;
        const T* const of_l = leaf_of.a + std::min(row, leaf_of.order - 1) * leaf_of.ld;
        BASALT_UNROLL
        for (int s = 0; s < j * groups; ++s) l[s] = operand<wide>(lane, of_l, s * group);
        BASALT_UNROLL
        for (int s = 0; s < groups; ++s) {
            if (s * group <= first) inverse[s] = operand<true>(lane, leaf_of.inverses + row * tile, s * group);
        }
    }
};

/// P(:, j) by substitution, a row a lane in the first warp. All threads come here.
template <class T, class Shape, class Thread>
BASALT_DEVICE void solve_by_substitution(const Thread& thread, RowsMemory<T, Shape>& memory, const Rows<T, Shape>& r,
                                         int top) {
    constexpr int tile = Shape::tile;
    const bool has_row = tile == lanes || thread.lane < tile;
    for (int k = thread.warp; k < tile; k += thread.warps) {
        const int row = top + thread.lane, col = top + k;
        const bool stored = row < r.l.order && k <= thread.lane;
        const T value = stored ? r.l.a[row * r.l.ld + col] : row == col ? T{1} : T{0};
        if (has_row) memory.diagonal.columns[k * tile + thread.lane] = value;
        if (thread.lane == k) memory.diagonal.reciprocal[k] = T{1} / value;
    }
    thread.sync();
    if (thread.warp > 0) return;
    T row[tile];
    const int own_row = std::min(thread.lane, solved_rows - 1);
    const T* const from = memory.right + own_row * Shape::ld + top;
    BASALT_UNROLL
    for (int c = 0; c < tile; ++c) row[c] = from[c];
    T* const to = memory.solved + own_row * Shape::ld + top;
    BASALT_ROLLED
    for (int first = 0; first < tile; first += group) {
        solve_group(row, memory.diagonal, first);
        BASALT_UNROLL
        for (int c = 0; c < group; ++c) {
            if (thread.lane < solved_rows) to[first + c] = row[c];
        }
        next_group(row);
    }
}

/// P(:, j) = (A(:, j) - P(:, :j) L(j, :j)^T) L(j, j)^-T, 16 x 8 of it to each warp.
template <int j, class T, class Shape, class Thread>
BASALT_DEVICE void solve_tile(const Thread& thread, RowsMemory<T, Shape>& memory, const Rows<T, Shape>& r,
                              const TileOperands<j, T, Shape>& operands) {
    constexpr int tile = Shape::tile, groups = Shape::groups, top = j * tile;
    if (top >= r.l.order) return;
    const int first = thread.warp % groups * group, row = thread.warp / groups * 16 + thread.lane / 4;
    const int own = row * Shape::ld + top + first + 2 * (thread.lane % 4);  // of the upper pair
    constexpr int below = 8 * Shape::ld;
    if constexpr (j > 0) {
        Part even{}, odd{};
        const T* const upper = memory.solved + row * Shape::ld;
        BASALT_UNROLL
        for (int s = 0; s < j * groups; ++s) {
            add_step(thread, s % 2 == 0 ? even : odd, upper, upper + below, s * group, operands.l[s]);
        }
        T* const right = memory.right + own;
        store_pair<true>(right, less(less(load_pair<true>(right), even.upper), odd.upper));
        store_pair<true>(right + below, less(less(load_pair<true>(right + below), even.lower), odd.lower));
        thread.sync();
    }
    if (r.l.use_inverse[j] != 0) {
        Part part{};
        const T* const upper = memory.right + row * Shape::ld + top;
        BASALT_UNROLL
        for (int s = 0; s < groups; ++s) {
            if (s * group <= first) add_step(thread, part, upper, upper + below, s * group, operands.inverse[s]);
        }
        T* const solved = memory.solved + own;
        store_pair<true>(solved, {static_cast<T>(part.upper[0]), static_cast<T>(part.upper[1])});
        store_pair<true>(solved + below, {static_cast<T>(part.lower[0]), static_cast<T>(part.lower[1])});
    } else {
        solve_by_substitution(thread, memory, r, top);
    }
    thread.sync();
    for (int i = thread.warp; i < r.rows; i += thread.warps) {
        const int col = top + thread.lane;
        if ((tile == lanes || thread.lane < tile) && col < r.l.order)
            r.a[i * r.ld + col] = memory.solved[i * Shape::ld + col];
    }
}

/// What a warp multiplies by for all tiles: one of them is loaded ahead of the one that is solved for.
template <bool wide, class T, class Shape, class Tiles = std::make_integer_sequence<int, Shape::tiles>>
struct RowsOperands;
template <bool wide, class T, class Shape, int... tiles>
struct RowsOperands<wide, T, Shape, std::integer_sequence<int, tiles...>> : TileOperands<tiles, T, Shape>... {
    template <int j>
    BASALT_DEVICE void load(int lane, const Leaf<const T, Shape::tile>& l, int first) {
        if constexpr (j < Shape::tiles) TileOperands<j, T, Shape>::template load<wide>(lane, l, first);
    }
    template <class Thread>
    BASALT_DEVICE void solve(const Thread& thread, RowsMemory<T, Shape>& memory, const Rows<T, Shape>& r, int first) {
        ((solve_tile(thread, memory, r, static_cast<const TileOperands<tiles, T, Shape>&>(*this)),
          load<tiles + 2>(thread.lane, r.l, first)),
         ...);
    }
};

/// Called by all threads of a block of solving_warps warps. `wide`: L begins at an address and has a leading dimension
/// that are multiples of two elements.
template <bool wide, class T, class Shape, class Thread>
BASALT_DEVICE void solve_rows(const Thread& thread, RowsMemory<T, Shape>& memory, const Rows<T, Shape>& r) {
    const int first = thread.warp % Shape::groups * group;
    RowsOperands<wide, T, Shape> operands;
    load_rows(thread, memory, r);
    operands.template load<0>(thread.lane, r.l, first);
    operands.template load<1>(thread.lane, r.l, first);
    thread.sync();
    operands.solve(thread, memory, r, first);
}

}  // namespace basalt::cuda_detail::cholesky
