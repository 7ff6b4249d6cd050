#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include <basalt/view.hpp>

#include "kernels/inverted_block.hpp"

#ifdef __CUDACC__
#define BASALT_DEVICE __device__ __forceinline__
#define BASALT_UNROLL _Pragma("unroll")
#define BASALT_ROLLED _Pragma("unroll 1")
#else
#define BASALT_DEVICE inline
#define BASALT_UNROLL
#define BASALT_ROLLED
#endif

/// What a block of threads does to factor a leaf of a Cholesky panel, and to solve the rows below it, written without
/// CUDA so that a test can run it on the host: `Thread` is a thread of the block (`warp`, `warps`, `lane`, `sync()`,
/// `sync_warp()`, `from_lane()`, `reciprocal_root()`, `mma_16x8x8()`).
///
/// Three levels of blocking, Abdelfattah et al. (section 6.3): a leaf (their rnb) of up to 128 columns in shared
/// memory, in tiles (ib) of 32, whose columns a warp eliminates in groups (kb) of 8, one row to a lane, in registers:
///
///     one warp            the tile on the diagonal: L(j, j)
///     a warp each         tiles below: L(i, j) = A(i, j) L(j, j)^-T, by the same elimination
///     one warp more       the same of the identity's rows: they become L(j, j)^-T, the inverse for rows below the leaf
///     all                 A(i, k) -= L(i, j) L(k, j)^T
namespace basalt::cuda_detail::cholesky {

constexpr int lanes = 32;
constexpr int tile = static_cast<int>(inverted_block);  // a row of it to a lane, a lane to a row
constexpr int group = 8;                                // columns eliminated with indices known to the compiler
constexpr int groups = tile / group;
constexpr int leaf = 128;
constexpr int leaf_tiles = leaf / tile;
constexpr int leaf_warps = 8;
constexpr int inverting_warp = leaf_tiles;  // the first that has no rows
constexpr int measuring_warp = leaf_tiles + 1;

/// Of rows in shared memory: lanes that load pairs, each from a row of its own, meet in no bank.
constexpr int leaf_ld = leaf + 2;
constexpr int tile_ld = tile + 2;

/// The inverse X of a tile L is used where max |L| max |X| is at most so much; substitution otherwise. A product with X
/// leaves a residual of about max |L| max |X| rounding errors where substitution leaves one, and few are as large as
/// their bound: decision 11 has what was measured.
constexpr double largest_inverse = 64;

template <class T>
struct alignas(2 * sizeof(T)) Pair {
    T first, second;
};

template <bool wide, class T>
BASALT_DEVICE Pair<T> load_pair(const T* at) {
    if constexpr (wide) return *reinterpret_cast<const Pair<T>*>(at);
    return {at[0], at[1]};
}

template <bool wide, class T>
BASALT_DEVICE void store_pair(T* at, Pair<T> pair) {
    if constexpr (wide) {
        *reinterpret_cast<Pair<T>*>(at) = pair;
    } else {
        at[0] = pair.first;
        at[1] = pair.second;
    }
}

/// A tile L(j, j) for elimination.
template <class T>
struct TileColumns {
    alignas(16) T columns[tile * tile];  ///< column after column
    T reciprocal[tile];                  ///< 1 / L(k, k)
};

/// row -= l times column `column` of the tile, in the columns behind it: row[0] is column `first` of the tile, a
/// multiple of the group's.
template <int k, class T>
BASALT_DEVICE void subtract_column(T (&row)[tile], T l, const T* column, int groups_left) {
    BASALT_UNROLL
    for (int c = k + 1; c < group; ++c) row[c] -= l * column[c];
    BASALT_UNROLL
    for (int g = 1; g < groups; ++g) {
        if (g >= groups_left) break;
        BASALT_UNROLL
        for (int c = 0; c < group; c += 2) {
            const Pair<T> pair = load_pair<true>(column + g * group + c);
            row[g * group + c] -= l * pair.first;
            row[g * group + c + 1] -= l * pair.second;
        }
    }
}

/// The pivot of the column to come.
template <class T>
struct Pivot {
    T value;
    T reciprocal_root;
    int failed;  ///< number, from 1, of the first that was not positive

    template <class Thread>
    BASALT_DEVICE void take(const Thread& thread, T own, int col) {
        value = thread.from_lane(own, col % lanes);
        reciprocal_root = thread.reciprocal_root(value);
    }
};

/// Columns k, k + 1, ... of a group, `first` being its first one. The next column's pivot is a lane's own element less
/// the square of its own l: it is on its way, root and all, while the rest of the step's products are made.
template <bool diagonal, int k, class T, class Thread>
BASALT_DEVICE void eliminate_group(const Thread& thread, T (&row)[tile], TileColumns<T>& l, int first,
                                   Pivot<T>& pivot) {
    if constexpr (k < group) {
        const int col = first + k;
        T* const column = l.columns + col * tile;
        if constexpr (diagonal) {
            if (!(pivot.value > T{0}) && pivot.failed == 0) pivot.failed = col + 1;
            const T reciprocal = pivot.reciprocal_root;
            row[k] = thread.lane == col ? pivot.value * reciprocal : row[k] * reciprocal;
            column[thread.lane] = row[k];
            if (thread.lane == col) l.reciprocal[col] = reciprocal;
            pivot.take(thread, row[k + 1] - row[k] * row[k], col + 1);
            thread.sync_warp();
        } else {
            row[k] *= l.reciprocal[col];
        }
        subtract_column<k>(row, row[k], column + first, groups - first / group);
        eliminate_group<diagonal, k + 1>(thread, row, l, first, pivot);
    }
}

/// row := row L(j, j)^-T for a lane's row. `diagonal`: the lanes' rows are those of the tile A(j, j) itself, which is
/// factored on the way; `failed` becomes the number, from 1, of the first pivot that is not positive. store(first, row)
/// takes the results of a group of columns from `first` on: the first ones of `row`.
template <bool diagonal, class T, class Thread, class Store>
BASALT_DEVICE void eliminate(const Thread& thread, T (&row)[tile], TileColumns<T>& l, int& failed, const Store& store) {
    Pivot<T> pivot{};
    if constexpr (diagonal) pivot.take(thread, row[0], 0);
    BASALT_ROLLED
    for (int first = 0; first < tile; first += group) {
        eliminate_group<diagonal, 0>(thread, row, l, first, pivot);
        store(first, row);
        BASALT_UNROLL
        for (int c = 0; c + group < tile; ++c) row[c] = row[c + group];
    }
    failed = pivot.failed;
}

/// A lane's row in shared memory, from an even element on.
template <class T>
BASALT_DEVICE void load_row(const T* from, T (&row)[tile]) {
    BASALT_UNROLL
    for (int c = 0; c < tile; c += 2) {
        const Pair<T> pair = load_pair<true>(from + c);
        row[c] = pair.first;
        row[c + 1] = pair.second;
    }
}
template <class T>
BASALT_DEVICE void store_group(T* to, const T (&row)[tile]) {
    BASALT_UNROLL
    for (int c = 0; c < group; c += 2) store_pair<true>(to + c, Pair<T>{row[c], row[c + 1]});
}

/// A lane's part of a 16 x 8 tile as mma.m16n8k8 has it: columns 2t and 2t + 1 of rows g and g + 8, lane = 4 g + t.
template <class T>
struct Part {
    T upper[2], lower[2];
};

/// part += A B^T with A 16 x 32 and B 8 x 32, both row-major. b_row: the row of B that lane group g reads. In double
/// precision by tensor cores, whose columns t and t + 4 are taken to be ours 2t and 2t + 1.
template <bool wide, class T, class Thread>
BASALT_DEVICE void add_product(const Thread& thread, Part<T>& part, const T* a, int a_ld, const T* b_row,
                               const T* b_even, const T* b_odd) {
    const int g = thread.lane / 4, t = thread.lane % 4;
    const T* const upper = a + g * a_ld;
    const T* const lower = a + (g + 8) * a_ld;
    if constexpr (std::is_same_v<T, double>) {
        BASALT_UNROLL
        for (int k = 2 * t; k < tile; k += 8) {
            const Pair<T> u = load_pair<true>(upper + k), l = load_pair<true>(lower + k),
                          b = load_pair<wide>(b_row + k);
            thread.mma_16x8x8(part.upper[0], part.upper[1], part.lower[0], part.lower[1], u.first, l.first, u.second,
                              l.second, b.first, b.second);
        }
    } else {
        BASALT_UNROLL
        for (int k = 0; k < tile; k += 2) {
            const Pair<T> u = load_pair<true>(upper + k), l = load_pair<true>(lower + k);
            const Pair<T> even = load_pair<wide>(b_even + k), odd = load_pair<wide>(b_odd + k);
            part.upper[0] += u.first * even.first + u.second * even.second;
            part.upper[1] += u.first * odd.first + u.second * odd.second;
            part.lower[0] += l.first * even.first + l.second * even.second;
            part.lower[1] += l.first * odd.first + l.second * odd.second;
        }
    }
}

/// The same with rows of B from `b` on, of which there are `rows`: those below are taken from the last.
template <bool wide, class T, class Thread>
BASALT_DEVICE void add_product(const Thread& thread, Part<T>& part, const T* a, int a_ld, const T* b, Index b_ld,
                               int rows) {
    const int g = thread.lane / 4, t = thread.lane % 4;
    add_product<wide>(thread, part, a, a_ld, b + std::min(g, rows - 1) * b_ld, b + std::min(2 * t, rows - 1) * b_ld,
                      b + std::min(2 * t + 1, rows - 1) * b_ld);
}

template <class T>
BASALT_DEVICE void subtract_part(int lane, const Part<T>& part, T* c, int ld) {
    const int g = lane / 4, t = lane % 4;
    T* const upper = c + g * ld + 2 * t;
    T* const lower = upper + 8 * ld;
    upper[0] -= part.upper[0], upper[1] -= part.upper[1];
    lower[0] -= part.lower[0], lower[1] -= part.lower[1];
}

/// Of a block that factors a leaf.
template <class T>
struct LeafMemory {
    alignas(16) T a[leaf * leaf_ld];  ///< row-major; what is right of the diagonal is of no matter
    TileColumns<T> diagonal;
    double largest_l, largest_x;
};

/// A leaf: the lower triangle of `a` (order x order, row-major, ld) becomes L. Of its tiles on the diagonal the
/// inverses go to `inverses` (tile x tile each, row-major, one after the other, those of a smaller last one filled up
/// with the identity), and to use_inverse whether they may be used.
template <class T>
struct Leaf {
    T* a;
    Index ld;
    int order;
    T* inverses;
    int* use_inverse;
};

/// Filled up with the identity to whole tiles, so that nothing else has to know where it ends. Several rows are on
/// their way at once.
template <class T, class Thread>
BASALT_DEVICE void load_leaf(const Thread& thread, LeafMemory<T>& memory, const Leaf<T>& l, int padded) {
    constexpr int rows_at_once = 4;
    for (int top = thread.warp; top < padded; top += rows_at_once * thread.warps) {
        T value[rows_at_once][leaf_tiles];
        BASALT_UNROLL
        for (int r = 0; r < rows_at_once; ++r) {
            const int i = top + r * thread.warps;
            BASALT_UNROLL
            for (int c = 0; c < leaf_tiles; ++c) {
                const int j = c * lanes + thread.lane;
                value[r][c] = i == j ? T{1} : T{0};
                if (i < l.order && j <= i) value[r][c] = l.a[i * l.ld + j];
            }
        }
        BASALT_UNROLL
        for (int r = 0; r < rows_at_once; ++r) {
            const int i = top + r * thread.warps;
            BASALT_UNROLL
            for (int c = 0; c < leaf_tiles; ++c) {
                if (i < padded) memory.a[i * leaf_ld + c * lanes + thread.lane] = value[r][c];
            }
        }
    }
}

template <class T, class Thread>
BASALT_DEVICE void store_leaf(const Thread& thread, const LeafMemory<T>& memory, const Leaf<T>& l) {
    for (int i = thread.warp; i < l.order; i += thread.warps) {
        for (int j = thread.lane; j <= i; j += lanes) l.a[i * l.ld + j] = memory.a[i * leaf_ld + j];
    }
}

/// The largest of the lanes' numbers, or NaN if one is, in every lane.
template <class Thread>
BASALT_DEVICE double largest_of_lanes(const Thread& thread, double value) {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const double other = thread.from_lane(value, thread.lane ^ distance);
        value = value != value || other <= value ? value : other;
    }
    return value;
}

template <class T>
BASALT_DEVICE double larger_magnitude(double largest, T value) {
    const double magnitude = std::fabs(static_cast<double>(value));
    return largest != largest || magnitude <= largest ? largest : magnitude;
}

/// The tile on the diagonal from column `top` on.
template <class T, class Thread>
BASALT_DEVICE int factor_tile(const Thread& thread, LeafMemory<T>& memory, int top) {
    T* const own = memory.a + (top + thread.lane) * leaf_ld + top;
    T row[tile];
    load_row(own, row);
    int failed = 0;
    eliminate<true>(thread, row, memory.diagonal, failed,
                    [own](int first, const T(&values)[tile]) { store_group(own + first, values); });
    return failed;
}

/// The tile of rows below it that is this warp's.
template <class T, class Thread>
BASALT_DEVICE void solve_tile(const Thread& thread, LeafMemory<T>& memory, int top) {
    T* const own = memory.a + (thread.warp * tile + thread.lane) * leaf_ld + top;
    T row[tile];
    load_row(own, row);
    int failed = 0;
    eliminate<false>(thread, row, memory.diagonal, failed,
                     [own](int first, const T(&values)[tile]) { store_group(own + first, values); });
}

/// Its inverse: row r of the identity becomes row r of L^-T, which is column r of L^-1.
template <class T, class Thread>
BASALT_DEVICE void invert_tile(const Thread& thread, LeafMemory<T>& memory, T* inverse) {
    T row[tile];
    BASALT_UNROLL
    for (int c = 0; c < tile; ++c) row[c] = c == thread.lane ? T{1} : T{0};
    int failed = 0;
    double largest = 0;
    eliminate<false>(thread, row, memory.diagonal, failed, [&](int first, const T(&values)[tile]) {
        BASALT_UNROLL
        for (int c = 0; c < group; ++c) {
            const T x = first + c < thread.lane ? T{0} : values[c];
            inverse[(first + c) * tile + thread.lane] = x;
            largest = larger_magnitude(largest, x);
        }
    });
    largest = largest_of_lanes(thread, largest);
    if (thread.lane == 0) memory.largest_x = largest;
}

template <class T, class Thread>
BASALT_DEVICE void measure_tile(const Thread& thread, LeafMemory<T>& memory) {
    double largest = 0;
    for (int k = 0; k <= thread.lane; ++k)
        largest = larger_magnitude(largest, memory.diagonal.columns[k * tile + thread.lane]);
    largest = largest_of_lanes(thread, largest);
    if (thread.lane == 0) memory.largest_l = largest;
}

/// A -= L L^T in the lower triangle from row and column `below` on, 16 x 8 at a time, dealt to the warps in turn.
template <class T, class Thread>
BASALT_DEVICE void update_leaf(const Thread& thread, LeafMemory<T>& memory, int top, int padded) {
    const int below = top + tile;
    int turn = 0;
    for (int i = below; i < padded; i += 16) {
        for (int j = below; j < i + 16; j += 8) {
            if (turn++ % thread.warps != thread.warp) continue;
            Part<T> part{};
            add_product<true>(thread, part, memory.a + i * leaf_ld + top, leaf_ld, memory.a + j * leaf_ld + top,
                              Index{leaf_ld}, 8);
            subtract_part(thread.lane, part, memory.a + i * leaf_ld + j, leaf_ld);
        }
    }
}

/// Called by all threads of a block of leaf_warps warps. Returns, in the threads of the warps that factor tiles, the
/// number from 1 of the first pivot of their tiles that is not positive, counted from the leaf's first, or 0.
template <class T, class Thread>
BASALT_DEVICE int factor_leaf(const Thread& thread, LeafMemory<T>& memory, const Leaf<T>& l) {
    const int padded = (l.order + tile - 1) / tile * tile;
    int failed = 0;
    load_leaf(thread, memory, l, padded);
    thread.sync();
    for (int top = 0; top < padded; top += tile) {
        const int j = top / tile;
        if (thread.warp == j) {
            const int found = factor_tile(thread, memory, top);
            if (found > 0) failed = top + found;
        }
        thread.sync();
        if (thread.warp > j && thread.warp * tile < padded && thread.warp < leaf_tiles) solve_tile(thread, memory, top);
        if (thread.warp == inverting_warp) invert_tile(thread, memory, l.inverses + j * tile * tile);
        if (thread.warp == measuring_warp) measure_tile(thread, memory);
        thread.sync();
        if (thread.warp == j && thread.lane == 0) {
            l.use_inverse[j] = memory.largest_l * memory.largest_x <= largest_inverse ? 1 : 0;
        }
        update_leaf(thread, memory, top, padded);
        thread.sync();
    }
    store_leaf(thread, memory, l);
    return failed;
}

constexpr int solved_rows = 32;  // of a block
constexpr int solving_warps = 8;

/// Of a block that solves for rows.
template <class T>
struct RowsMemory {
    alignas(16) T right[solved_rows * leaf_ld];   ///< what is left of the right-hand sides
    alignas(16) T solved[solved_rows * tile_ld];  ///< the columns of the last tile
    TileColumns<T> diagonal;                      ///< for substitution
};

/// P = A L^-T for `rows` rows (at most solved_rows) in place of A, L being a leaf with its inverses.
template <class T>
struct Rows {
    T* a;
    Index ld;
    int rows;
    Leaf<const T> l;
};

template <class T, class Thread>
BASALT_DEVICE void load_rows(const Thread& thread, RowsMemory<T>& memory, const Rows<T>& r) {
    constexpr int own_rows = solved_rows / solving_warps;
    T value[own_rows][leaf_tiles];
    BASALT_UNROLL
    for (int n = 0; n < own_rows; ++n) {
        const int i = thread.warp + n * solving_warps;
        BASALT_UNROLL
        for (int c = 0; c < leaf_tiles; ++c) {
            const int j = c * lanes + thread.lane;
            value[n][c] = i < r.rows && j < r.l.order ? r.a[i * r.ld + j] : T{0};
        }
    }
    BASALT_UNROLL
    for (int n = 0; n < own_rows; ++n) {
        BASALT_UNROLL
        for (int c = 0; c < leaf_tiles; ++c) {
            memory.right[(thread.warp + n * solving_warps) * leaf_ld + c * lanes + thread.lane] = value[n][c];
        }
    }
}

/// A tile of 16 x 8 of P(:, j) = right L(j, j)^-T to each warp.
template <bool wide, class T, class Thread>
BASALT_DEVICE void solve_by_inverse(const Thread& thread, RowsMemory<T>& memory, const Rows<T>& r, int top) {
    const int row = thread.warp / 4 * 16, col = thread.warp % 4 * 8, g = thread.lane / 4, t = thread.lane % 4;
    Part<T> part{};
    add_product<true>(thread, part, memory.right + row * leaf_ld + top, leaf_ld, r.l.inverses + (top + col) * tile,
                      Index{tile}, 8);
    T* const upper = memory.solved + (row + g) * tile_ld + col + 2 * t;
    T* const lower = upper + 8 * tile_ld;
    upper[0] = part.upper[0], upper[1] = part.upper[1];
    lower[0] = part.lower[0], lower[1] = part.lower[1];
}

/// The same by substitution, a row a lane in the first warp. All threads come here.
template <class T, class Thread>
BASALT_DEVICE void solve_by_substitution(const Thread& thread, RowsMemory<T>& memory, const Rows<T>& r, int top) {
    for (int k = thread.warp; k < tile; k += thread.warps) {
        const int row = top + thread.lane, col = top + k;
        const bool stored = row < r.l.order && k <= thread.lane;
        const T value = stored ? r.l.a[row * r.l.ld + col] : row == col ? T{1} : T{0};
        memory.diagonal.columns[k * tile + thread.lane] = value;
        if (thread.lane == k) memory.diagonal.reciprocal[k] = T{1} / value;
    }
    thread.sync();
    if (thread.warp > 0) return;
    T row[tile];
    load_row(memory.right + thread.lane * leaf_ld + top, row);
    T* const own = memory.solved + thread.lane * tile_ld;
    int failed = 0;
    eliminate<false>(thread, row, memory.diagonal, failed,
                     [own](int first, const T(&values)[tile]) { store_group(own + first, values); });
}

/// right(:, i) -= P(:, j) L(i, j)^T for the tiles i behind j.
template <bool wide, class T, class Thread>
BASALT_DEVICE void update_rows(const Thread& thread, RowsMemory<T>& memory, const Rows<T>& r, int top) {
    const int row = thread.warp / 4 * 16;
    for (int col = top + tile + thread.warp % 4 * 8; col < r.l.order; col += 4 * 8) {
        Part<T> part{};
        add_product<wide>(thread, part, memory.solved + row * tile_ld, tile_ld, r.l.a + col * r.l.ld + top, r.l.ld,
                          r.l.order - col);
        subtract_part(thread.lane, part, memory.right + row * leaf_ld + col, leaf_ld);
    }
}

template <class T, class Thread>
BASALT_DEVICE void store_rows(const Thread& thread, const RowsMemory<T>& memory, const Rows<T>& r, int top) {
    const int col = top + thread.lane;
    for (int i = thread.warp; i < r.rows; i += thread.warps) {
        if (col < r.l.order) r.a[i * r.ld + col] = memory.solved[i * tile_ld + thread.lane];
    }
}

/// Called by all threads of a block of solving_warps warps. `wide`: L begins at an address and has a leading dimension
/// that are multiples of two elements.
template <bool wide, class T, class Thread>
BASALT_DEVICE void solve_rows(const Thread& thread, RowsMemory<T>& memory, const Rows<T>& r) {
    const int padded = (r.l.order + tile - 1) / tile * tile;
    load_rows(thread, memory, r);
    thread.sync();
    for (int top = 0; top < padded; top += tile) {
        if (r.l.use_inverse[top / tile] != 0) {
            solve_by_inverse<wide>(thread, memory, r, top);
        } else {
            solve_by_substitution(thread, memory, r, top);
        }
        thread.sync();
        store_rows(thread, memory, r, top);
        update_rows<wide>(thread, memory, r, top);
        thread.sync();
    }
}

}  // namespace basalt::cuda_detail::cholesky

#undef BASALT_DEVICE
#undef BASALT_UNROLL
#undef BASALT_ROLLED
