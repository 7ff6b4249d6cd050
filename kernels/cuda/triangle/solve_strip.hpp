#pragma once

#include <algorithm>
#include <type_traits>

#include <basalt/view.hpp>

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/cuda/common/pair.hpp"
#include "kernels/inverted_block.hpp"

/// What a block of threads does to solve L U = W for a strip of columns, written without CUDA so that a test can run it
/// on the host: `Thread` is a thread of the block (`warp`, `warps`, `lane`, `sync()`, `mma_16x8x8()`, `from_lane()`).
///
/// Right-looking, with everything that is not solved yet in registers: W is read once, U written once, and L goes from
/// the second cache straight to the one warp that needs it. 16 rows of the strip are a unit; units are dealt to warps
/// in turn, so that all have work while the triangle shrinks. Step i, of 32 rows:
///
///     the two warps that hold them    right_i -> shared memory
///     as many as there are tiles      U_i = L_ii^-1 right_i -> shared memory, U
///     all                             right_r -= L_ri U_i for the rows r below
namespace basalt::cuda_detail {

constexpr int strip_cols = 32;
constexpr int unit_rows = 16;
constexpr int units_a_warp = 2;
constexpr int warp_lanes = 32;
constexpr int most_warps = 8;
constexpr int most_solved_rows = most_warps * units_a_warp * unit_rows;
constexpr int solved_rows = static_cast<int>(inverted_block);  // of a step

constexpr int tile_cols = 8;  // a unit is up to four tiles of 16 x 8, as tensor cores have them
constexpr int unit_tiles = strip_cols / tile_cols;
constexpr int solving_warps = solved_rows / unit_rows * unit_tiles;  // at most, a tile of U_i each
constexpr int depth = 8;                                             // of one product of tiles
constexpr int depths = solved_rows / depth;

/// How a block has a strip: `tiles` of 8 columns, up to unit_tiles. `ahead`: a warp's operands of a step's products
/// that are on their way while the diagonal block is solved, of depths * units_a_warp; more of them hide the way from
/// the second cache, and take registers.
template <int tiles_, int ahead_>
struct StripShape {
    static constexpr int tiles = tiles_, ahead = ahead_, cols = tiles * tile_cols;
    static_assert(tiles <= unit_tiles && (depths % ahead == 0 || ahead == depths * 2));
};

/// Rows of a strip in shared memory: with two elements more than columns, a warp's lanes hit different banks when they
/// read rows 2t and columns g (t < 4, g < 8).
constexpr int shared_ld = strip_cols + 2;

/// In double precision products are those of tensor cores; in single they are plain, since tensor cores round to ten
/// bits there.
template <class T>
constexpr bool in_tensor_cores = std::is_same_v<T, double>;

/// A lane's part of tiles side by side: of each, columns 2t and 2t + 1 of rows g (upper) and g + 8 (lower).
template <class T, int tiles>
struct Sums {
    struct Tile {
        Pair<T> upper, lower;
    };
    Tile of[tiles];
};

/// A lane's part of a 16 x 8 block of L or of an inverse: of rows g and g + 8 its columns 2t and 2t + 1, or all eight
/// without tensor cores.
template <class T>
struct Operand {
    static constexpr int pairs = in_tensor_cores<T> ? 1 : depth / 2;
    Pair<T> upper[pairs], lower[pairs];
};

/// What the warps of a block share: rows of 32, shared_ld apart.
template <class T>
struct StripMemory {
    alignas(16) T diagonal[solved_rows * shared_ld];  ///< L_ii^-1 or L_ii
    alignas(16) T right[solved_rows * shared_ld];     ///< right_i
    alignas(16) T solved[solved_rows * shared_ld];    ///< U_i
};

/// Row-major matrices of `rows` rows (at most most_solved_rows): L, the inverses of its diagonal blocks one below the
/// other (solved_rows wide; not looked at by substitution), and `cols` columns (at most StripShape::cols) of W and U,
/// which may be the same.
template <class T>
struct Strip {
    const T* l;
    Index l_ld;
    const T* inverses;
    Index inverses_ld;
    const T* w;
    Index w_ld;
    T* u;
    Index u_ld;
    int rows;
    int cols;
};

/// sums += A B, B being depth x tiles * tile_cols in shared memory.
template <class Thread, class T, int tiles>
BASALT_DEVICE void multiply_add(const Thread& thread, Sums<T, tiles>& sums, const Operand<T>& a, const T* b) {
    const int g = thread.lane / 4, t = thread.lane % 4;
    BASALT_UNROLL
    for (int j = 0; j < tiles; ++j) {
        auto& [upper, lower] = sums.of[j];
        if constexpr (in_tensor_cores<T>) {
            const T* const at = b + 2 * t * shared_ld + j * tile_cols + g;
            // Lane (g, t) is to give columns t and t + 4 of A and rows t and t + 4 of B. Which columns and rows those
            // are is up to us, as long as both agree: 2t and 2t + 1, so that A's are one load.
            thread.mma_16x8x8(upper.first, upper.second, lower.first, lower.second, a.upper[0].first, a.lower[0].first,
                              a.upper[0].second, a.lower[0].second, at[0], at[shared_ld]);
        } else {
            BASALT_UNROLL
            for (int p = 0; p < depth / 2; ++p) {
                const T* const at = b + 2 * p * shared_ld + j * tile_cols + 2 * t;
                const Pair<T> even = load_pair<true>(at), odd = load_pair<true>(at + shared_ld);
                upper.first += a.upper[p].first * even.first + a.upper[p].second * odd.first;
                upper.second += a.upper[p].first * even.second + a.upper[p].second * odd.second;
                lower.first += a.lower[p].first * even.first + a.lower[p].second * odd.first;
                lower.second += a.lower[p].first * even.second + a.lower[p].second * odd.second;
            }
        }
    }
}

/// Where a lane's operands lie in two rows of a matrix, in elements from its first one: 32 bits each, because registers
/// are what these kernels are short of. Rows below the last one are taken from the last: results for them are not
/// used.
struct OperandRows {
    int upper, lower;

    template <class T>
    static BASALT_DEVICE OperandRows of(Index ld, int lane, int row, int rows) {
        const int g = lane / 4, first = in_tensor_cores<T> ? lane % 4 * 2 : 0;
        return {std::min(row + g, rows - 1) * static_cast<int>(ld) + first,
                std::min(row + g + unit_rows / 2, rows - 1) * static_cast<int>(ld) + first};
    }

    /// Columns [col, col + depth).
    template <bool wide, class T>
    BASALT_DEVICE Operand<T> load(const T* matrix, int col) const {
        Operand<T> a{};
        BASALT_UNROLL
        for (int p = 0; p < Operand<T>::pairs; ++p) {
            a.upper[p] = load_pair<wide>(matrix + (upper + col + 2 * p));
            a.lower[p] = load_pair<wide>(matrix + (lower + col + 2 * p));
        }
        return a;
    }
};

template <bool wide, class T>
BASALT_DEVICE Pair<T> negated_w(const Strip<T>& s, int row, int col) {
    Pair<T> w{};
    if (row >= s.rows || col >= s.cols) return w;
    const T* const at = s.w + row * s.w_ld + col;
    if constexpr (wide) {
        w = load_pair<true>(at);
    } else {
        w.first = at[0];
        if (col + 1 < s.cols) w.second = at[1];
    }
    return {-w.first, -w.second};
}

template <bool wide, class T>
BASALT_DEVICE void store_u(const Strip<T>& s, int row, int col, Pair<T> u) {
    if (row >= s.rows || col >= s.cols) return;
    T* const at = s.u + row * s.u_ld + col;
    if (wide || col + 1 < s.cols) {
        store_pair<wide>(at, u);
    } else {
        *at = u.first;
    }
}

/// U_i = L_ii^-1 right_i with the inverse: a tile of U_i for each of up to eight warps.
struct ByInverse {
    template <class T>
    static BASALT_DEVICE const T* diagonal(const Strip<T>& s, int top) {
        return s.inverses + top * s.inverses_ld;
    }
    template <class T>
    static BASALT_DEVICE Index diagonal_ld(const Strip<T>& s) {
        return s.inverses_ld;
    }
    /// Right of the last inverse, where it is smaller, is anything.
    static BASALT_DEVICE bool takes(int, int col, int order) { return col < order; }

    template <class Shape, bool wide, class T, class Thread>
    static BASALT_DEVICE void solve(const Thread& thread, StripMemory<T>& shared, const Strip<T>& s, int top) {
        if (thread.warp >= solved_rows / unit_rows * Shape::tiles) return;
        const int g = thread.lane / 4, t = thread.lane % 4;
        const int row = thread.warp / Shape::tiles * unit_rows, col = thread.warp % Shape::tiles * tile_cols;
        const OperandRows inverse = OperandRows::of<T>(shared_ld, thread.lane, row, solved_rows);
        Sums<T, 1> solved{};
        BASALT_UNROLL
        for (int d = 0; d < depths; ++d) {
            multiply_add(thread, solved, inverse.load<true>(shared.diagonal, d * depth),
                         shared.right + d * depth * shared_ld + col);
        }
        const auto [upper, lower] = solved.of[0];
        T* const kept = shared.solved + (row + g) * shared_ld + col + 2 * t;
        store_pair<true>(kept, upper);
        store_pair<true>(kept + unit_rows / 2 * shared_ld, lower);
        store_u<wide>(s, top + row + g, col + 2 * t, upper);
        store_u<wide>(s, top + row + g + unit_rows / 2, col + 2 * t, lower);
    }
};

/// The same by substitution: four columns for each of up to eight warps, in which lane (g, t) has rows g, g + 8, .. of
/// one.
struct BySubstitution {
    template <class T>
    static BASALT_DEVICE const T* diagonal(const Strip<T>& s, int top) {
        return s.l + top * s.l_ld + top;
    }
    template <class T>
    static BASALT_DEVICE Index diagonal_ld(const Strip<T>& s) {
        return s.l_ld;
    }
    static BASALT_DEVICE bool takes(int row, int col, int) { return col < row; }

    template <class Shape, bool wide, class T, class Thread>
    static BASALT_DEVICE void solve(const Thread& thread, StripMemory<T>& shared, const Strip<T>& s, int top) {
        if (thread.warp >= Shape::cols / 4) return;
        constexpr int lane_rows = solved_rows / 8;
        const int g = thread.lane / 4, t = thread.lane % 4, col = thread.warp * 4 + t;
        T value[lane_rows];
        BASALT_UNROLL
        for (int n = 0; n < lane_rows; ++n) value[n] = shared.right[(g + 8 * n) * shared_ld + col];
        BASALT_UNROLL
        for (int k = 0; k < solved_rows - 1; ++k) {
            const T solved = thread.from_lane(value[k / 8], k % 8 * 4 + t);
            BASALT_UNROLL
            for (int n = k / 8; n < lane_rows; ++n) value[n] -= shared.diagonal[(g + 8 * n) * shared_ld + k] * solved;
        }
        BASALT_UNROLL
        for (int n = 0; n < lane_rows; ++n) {
            const int row = g + 8 * n;
            shared.solved[row * shared_ld + col] = value[n];
            if (top + row < s.rows && col < s.cols) s.u[(top + row) * s.u_ld + col] = value[n];
        }
    }
};

/// A diagonal block on its way to shared memory, with zeros where the method takes nothing.
template <class Method, bool wide, class T>
struct DiagonalBlock {
    static constexpr int row_pairs = solved_rows / 2;
    static constexpr int parts = solved_rows * row_pairs / (solving_warps * warp_lanes);
    Pair<T> part[parts];

    template <class Thread>
    static BASALT_DEVICE int position(const Thread& thread, int n) {
        return (thread.warp + n * thread.warps) * warp_lanes + thread.lane;
    }

    template <class Thread>
    BASALT_DEVICE void fetch(const Thread& thread, const Strip<T>& s, int top) {
        const int order = s.rows - top;  // or more than a block's
        BASALT_UNROLL
        for (int n = 0; n < parts; ++n) {
            const int row = position(thread, n) / row_pairs, col = position(thread, n) % row_pairs * 2;
            part[n] = {};
            if (row >= order || !Method::takes(row, col, order)) continue;
            part[n] = load_pair<wide>(Method::diagonal(s, top) + row * Method::diagonal_ld(s) + col);
            if (!Method::takes(row, col + 1, order)) part[n].second = T{0};
        }
    }

    template <class Thread>
    BASALT_DEVICE void hand_over(const Thread& thread, StripMemory<T>& shared) const {
        BASALT_UNROLL
        for (int n = 0; n < parts; ++n) {
            const int row = position(thread, n) / row_pairs, col = position(thread, n) % row_pairs * 2;
            if (row < solved_rows) store_pair<true>(shared.diagonal + row * shared_ld + col, part[n]);
        }
    }
};

/// A warp's units: minus the right-hand sides that are left, in registers.
template <class Shape, bool wide, class T>
struct Units {
    static constexpr int ahead = Shape::ahead, tiles = Shape::tiles;
    static constexpr bool all = ahead == units_a_warp * depths;  // of a step's operands are fetched
    static_assert(units_a_warp == 2);
    Sums<T, tiles> minus_right[units_a_warp];
    OperandRows l[units_a_warp];
    Operand<T> operands[ahead];
    int row[units_a_warp];

    template <class Thread>
    BASALT_DEVICE void load(const Thread& thread, const Strip<T>& s) {
        const int g = thread.lane / 4, t = thread.lane % 4;
        BASALT_UNROLL
        for (int n = 0; n < units_a_warp; ++n) {
            row[n] = (thread.warp + n * thread.warps) * unit_rows;
            l[n] = OperandRows::of<T>(s.l_ld, thread.lane, row[n], s.rows);
            BASALT_UNROLL
            for (int j = 0; j < tiles; ++j) {
                minus_right[n].of[j].upper = negated_w<wide>(s, row[n] + g, j * tile_cols + 2 * t);
                minus_right[n].of[j].lower = negated_w<wide>(s, row[n] + g + unit_rows / 2, j * tile_cols + 2 * t);
            }
        }
    }

    /// Right-hand sides of rows [top, top + solved_rows) to shared memory, zeros below the last row.
    template <class Thread>
    BASALT_DEVICE void hand_over(const Thread& thread, StripMemory<T>& shared, int rows, int top) const {
        const int g = thread.lane / 4, t = thread.lane % 4;
        BASALT_UNROLL
        for (int n = 0; n < units_a_warp; ++n) {
            if (row[n] < top || row[n] >= top + solved_rows) continue;
            const bool upper = row[n] + g < rows, lower = row[n] + g + unit_rows / 2 < rows;
            T* const to = shared.right + (row[n] - top + g) * shared_ld + 2 * t;
            BASALT_UNROLL
            for (int j = 0; j < tiles; ++j) {
                const auto [above, below] = minus_right[n].of[j];
                store_pair<true>(to + j * tile_cols, upper ? Pair<T>{-above.first, -above.second} : Pair<T>{});
                store_pair<true>(to + j * tile_cols + unit_rows / 2 * shared_ld,
                                 lower ? Pair<T>{-below.first, -below.second} : Pair<T>{});
            }
        }
    }

    /// The first unit that begins in row `top` or below it and is not below all rows, or units_a_warp.
    BASALT_DEVICE int first_from(int top, int rows) const {
        int first = units_a_warp;
        BASALT_UNROLL
        for (int n = units_a_warp - 1; n >= 0; --n) first = row[n] >= top && row[n] < rows ? n : first;
        return first;
    }

    /// The first operands of the update by the columns of L from `col` on, for the units from `first` on.
    BASALT_DEVICE void fetch(const Strip<T>& s, int col, int first) {
        const OperandRows rows = first == 0 ? l[0] : l[units_a_warp - 1];
        BASALT_UNROLL
        for (int i = 0; i < ahead; ++i) {
            if (all ? i / depths < first : first == units_a_warp) continue;
            operands[i] = (all ? l[i / depths] : rows).template load<wide>(s.l, col + i % depths * depth);
        }
    }

    /// right -= L U_i for the units from `first` on.
    template <class Thread>
    BASALT_DEVICE void update(const Thread& thread, const StripMemory<T>& shared, const Strip<T>& s, int col,
                              int first) {
        BASALT_UNROLL
        for (int n = 0; n < units_a_warp; ++n) {
            if (n < first) continue;
            BASALT_UNROLL
            for (int d = 0; d < depths; ++d) {
                multiply_add(thread, minus_right[n], operands[(n * depths + d) % ahead],
                             shared.solved + d * depth * shared_ld);
                if (all) continue;
                const int next = d + ahead;
                if (next < depths) operands[d % ahead] = l[n].load<wide>(s.l, col + next * depth);
                if (next >= depths && n + 1 < units_a_warp) {
                    operands[d % ahead] = l[n + 1].load<wide>(s.l, col + (next - depths) * depth);
                }
            }
        }
    }
};

/// Of a block that solves for `rows` rows.
constexpr int warps_for(Index rows) {
    const int needed = static_cast<int>((rows + units_a_warp * unit_rows - 1) / (units_a_warp * unit_rows));
    return needed < solving_warps ? solving_warps : needed;
}

/// U = L^-1 W for the strip. Called by all threads of a block of warps_for(rows) warps. `wide`: addresses, leading
/// dimensions and `cols` are multiples of two elements.
template <class Method, class Shape, bool wide, class T, class Thread>
BASALT_DEVICE void solve_strip(const Thread& thread, StripMemory<T>& shared, const Strip<T>& s) {
    DiagonalBlock<Method, wide, T> diagonal;
    diagonal.fetch(thread, s, 0);
    Units<Shape, wide, T> units;
    units.load(thread, s);
    for (int top = 0; top < s.rows; top += solved_rows) {
        diagonal.hand_over(thread, shared);
        units.hand_over(thread, shared, s.rows, top);
        thread.sync();
        const int below = top + solved_rows, first = units.first_from(below, s.rows);
        // what comes next is on its way while warps solve and wait for each other
        if (below < s.rows) diagonal.fetch(thread, s, below);
        units.fetch(s, top, first);
        Method::template solve<Shape, wide>(thread, shared, s, top);
        if (below >= s.rows) break;
        thread.sync();
        units.update(thread, shared, s, top, first);
    }
}

}  // namespace basalt::cuda_detail
