#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/cholesky/block.hpp"

/// How a block of threads factors a leaf. Its matrix is in shared memory; groups of 8 columns follow one another:
///
///     4 warps, a row a thread    the group's 8 x 8 on the diagonal, by every thread for itself, and L for its own row:
///                                the chain of pivots and roots has no exchange between threads in it
///     8 warps, 16 rows each      meanwhile what all groups but this one take from the next group's columns, on tensor
///                                cores; then this group's share, which is all that the next one has to wait for
///     1 warp and 2               the same of the identity's rows below each tile: they become L(j, j)^-T
///     1 warp                     stores both one group behind
namespace basalt::cuda_detail::cholesky {

template <class T, class Shape>
struct LeafMemory {
    static constexpr int ld = Shape::ld;
    static constexpr int identity_row = Shape::columns;  ///< where the rows of the identity begin
    static constexpr int rows = Shape::columns + lanes;  ///< of the identity's a tile's are of use
    static constexpr int row_warps = rows / lanes;
    static constexpr int reporting_warp = row_warps - 1;  ///< the identity's, which sees all pivots
    static constexpr int first_identity_warp = row_warps + Shape::columns / 16;  ///< of those behind
    static constexpr int storing_warp = first_identity_warp + Shape::tile / 16;
    static constexpr int warps = storing_warp + 1;

    alignas(16) T a[rows * ld];           ///< row-major; elements right of the diagonal are not used
    alignas(16) T square[group * group];  ///< of the group on the diagonal, before it is factored
};

/// Into shared memory, filled up with the identity to whole tiles, so that nothing else has to know where it ends.
/// Several rows are on their way at once.
template <class T, class Shape, class Thread>
BASALT_DEVICE void load_leaf(const Thread& thread, LeafMemory<T, Shape>& memory, const Leaf<T, Shape::tile>& l) {
    constexpr int rows_at_once = 4, parts = Shape::columns / lanes;
    const int padded = l.padded();
    for (int top = thread.warp; top < padded; top += rows_at_once * thread.warps) {
        T value[rows_at_once][parts];
        BASALT_UNROLL
        for (int r = 0; r < rows_at_once; ++r) {
            const int i = top + r * thread.warps;
            BASALT_UNROLL
            for (int c = 0; c < parts; ++c) {
                const int j = c * lanes + thread.lane;
                value[r][c] = i == j ? T{1} : T{0};
                if (i < l.order && j <= i) value[r][c] = l.a[i * l.ld + j];
            }
        }
        BASALT_UNROLL
        for (int r = 0; r < rows_at_once; ++r) {
            const int i = top + r * thread.warps;
            BASALT_UNROLL
            for (int c = 0; c < parts; ++c) {
                const int j = c * lanes + thread.lane;
                if (i < padded) memory.a[i * memory.ld + j] = value[r][c];
                if (i < group && j < group) memory.square[i * group + j] = value[r][c];
            }
        }
    }
    for (int i = thread.warp; i < lanes; i += thread.warps) {
        memory.a[(memory.identity_row + i) * memory.ld + thread.lane] = i == thread.lane ? T{1} : T{0};
    }
}

/// The largest magnitude, by the bits that order it: in double precision the upper half's, cut off behind 20 bits. NaN
/// is above all numbers.
template <class T>
class Magnitude {
  public:
    BASALT_DEVICE void take(T value) { bits_ = std::max(bits_, of(value)); }

    /// The largest of the lanes', or NaN if one is, in every lane.
    template <class Thread>
    BASALT_DEVICE double of_lanes(const Thread& thread) const {
        unsigned largest = bits_;
        for (int distance = lanes / 2; distance > 0; distance /= 2) {
            largest = std::max(largest, thread.from_lane(largest, thread.lane ^ distance));
        }
        if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(std::uint64_t{largest} << 32);
        return static_cast<double>(std::bit_cast<float>(largest));
    }

  private:
    BASALT_DEVICE static unsigned of(double value) {
        return static_cast<unsigned>(std::bit_cast<std::uint64_t>(value) >> 32) & 0x7fffffffU;
    }
    BASALT_DEVICE static unsigned of(float value) { return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU; }

    unsigned bits_ = 0;
};

/// The lower triangle of a group's square on the diagonal.
template <class T>
BASALT_DEVICE void load_triangle(const T* square, T (&l)[group][group]) {
    BASALT_UNROLL
    for (int i = 0; i < group; ++i) {
        BASALT_UNROLL
        for (int j = 0; j <= i; j += 2) {
            const Pair<T> pair = load_pair<true>(square + i * group + j);
            l[i][j] = pair.first;
            l[i][j + 1] = pair.second;
        }
    }
}
template <class T>
BASALT_DEVICE void load_row(const T* own, T (&row)[group]) {
    BASALT_UNROLL
    for (int c = 0; c < group; c += 2) {
        const Pair<T> pair = load_pair<true>(own + c);
        row[c] = pair.first;
        row[c + 1] = pair.second;
    }
}
template <class T>
BASALT_DEVICE void store_row(const T (&row)[group], T* own) {
    BASALT_UNROLL
    for (int c = 0; c < group; c += 2) store_pair<true>(own + c, Pair<T>{row[c], row[c + 1]});
}

/// L of the group's square and of the thread's own row: row := row L^-T. Returns whether all pivots are normal numbers
/// above zero. If not, the result has no meaning, and eliminate_carefully() takes over.
template <class T, class Thread>
BASALT_DEVICE bool eliminate(const Thread& thread, const T* square, T (&row)[group]) {
    T l[group][group];
    load_triangle(square, l);
    bool normal = true;
    BASALT_UNROLL
    for (int k = 0; k < group; ++k) {
        // the estimate takes denormal numbers for zero, and e is NaN for an infinite pivot
        normal = normal && l[k][k] >= std::numeric_limits<T>::min() && l[k][k] <= std::numeric_limits<T>::max();
        // 1 / sqrt(pivot) = y (1 + e p), up to e^3: divided so, the next pivot has the fewest operations to wait for
        const T y = thread.reciprocal_root_estimate(l[k][k]);
        const T e = T{1} - l[k][k] * y * y, p = e * T{0.375} + T{0.5};
        const auto divided = [=](T a) {
            const T first_part = a * y;
            return first_part + first_part * e * p;
        };
        BASALT_UNROLL
        for (int i = k + 1; i < group; ++i) l[i][k] = divided(l[i][k]);
        BASALT_UNROLL
        for (int j = k + 1; j < group; ++j) {
            BASALT_UNROLL
            for (int i = j; i < group; ++i) l[i][j] -= l[i][k] * l[j][k];
        }
        row[k] = divided(row[k]);
        BASALT_UNROLL
        for (int j = k + 1; j < group; ++j) row[j] -= row[k] * l[j][k];
    }
    return normal;
}

/// The same for any pivots, by roots and quotients, as LAPACK's potf2 does it. `own` is the thread's row, in place;
/// `diagonal` its number in the square, or any other number for a row outside of it. Returns the number, from 1, of the
/// first pivot that is not above zero, or 0. Rare, and so a call.
template <class T>
BASALT_DEVICE_CALL int eliminate_carefully(const T* square, T* own, int diagonal) {
    T l[group][group], row[group];
    load_triangle(square, l);
    load_row(own, row);
    int failed = 0;
    BASALT_UNROLL
    for (int k = 0; k < group; ++k) {
        if (!(l[k][k] > T{0}) && failed == 0) failed = k + 1;
        const T root = std::sqrt(l[k][k]);
        BASALT_UNROLL
        for (int i = k + 1; i < group; ++i) l[i][k] /= root;
        BASALT_UNROLL
        for (int j = k + 1; j < group; ++j) {
            BASALT_UNROLL
            for (int i = j; i < group; ++i) l[i][j] -= l[i][k] * l[j][k];
        }
        row[k] = k == diagonal ? root : row[k] / root;  // infinity / infinity would be NaN
        BASALT_UNROLL
        for (int j = k + 1; j < group; ++j) row[j] -= row[k] * l[j][k];
    }
    store_row(row, own);
    return failed;
}

/// The warps with a row a thread. Returns, in the one of the identity's rows, the number of the first pivot that is not
/// positive, or 0.
template <class T, class Shape, class Thread>
BASALT_DEVICE int factor_groups(const Thread& thread, LeafMemory<T, Shape>& memory, int padded) {
    const bool identity = thread.warp == memory.reporting_warp;
    int failed = 0;
    BASALT_ROLLED
    for (int first = 0; first < padded; first += group) {
        if (identity || (thread.warp >= first / lanes && thread.warp * lanes < padded)) {
            const int number = thread.warp * lanes + thread.lane;
            T* const own = memory.a + number * memory.ld + first;
            T row[group];
            load_row(own, row);
            // every thread sees the same pivots, so that all of them take the same branch
            if (eliminate(thread, memory.square, row)) {
                store_row(row, own);
            } else {
                const int found = eliminate_carefully(memory.square, own, number - first);
                if (found > 0 && failed == 0) failed = first + found;
            }
        }
        thread.meet();
        thread.meet();
    }
    return identity ? failed : 0;
}

/// The warps behind: 16 rows each. Columns from `begin` on contribute: of the identity's rows those of their tile.
template <bool identity, class T, class Shape, class Thread>
BASALT_DEVICE void update_groups(const Thread& thread, LeafMemory<T, Shape>& memory, int padded) {
    constexpr int tile = Shape::tile;
    const int top = (thread.warp - memory.row_warps) * 16;
    const int row = top + thread.lane / 4, pair = 2 * (thread.lane % 4);
    const T* const upper = memory.a + row * memory.ld;
    const T* const lower = upper + 8 * memory.ld;
    BASALT_ROLLED
    for (int first = 0; first < padded; first += group) {
        const int next = first + group, begin = identity ? next / tile * tile : 0;
        const bool busy = next < padded && (identity || (top < padded && top + 16 > next));
        const T* const b = memory.a + (next + thread.lane / 4) * memory.ld;
        if (!busy) {
            thread.meet();
            thread.meet();
            continue;
        }
        Part even{}, odd{};
        Pair<T> rest[2];
        const auto step = [&](Part& part, int col) {
            add_step(thread, part, upper, lower, col, operand<true>(thread.lane, b, col));
        };
        int col = begin;
        BASALT_ROLLED
        for (; col + 4 * group <= first; col += 4 * group) {
            BASALT_UNROLL
            for (int s = 0; s < 4; ++s) step(s % 2 == 0 ? even : odd, col + s * group);
        }
        BASALT_ROLLED
        for (; col < first; col += group) step(even, col);
        BASALT_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int own_row = row + 8 * half;
            rest[half] = load_pair<true>(memory.a + own_row * memory.ld + next + pair);
            if constexpr (identity) {
                const int one = begin + own_row - memory.identity_row - next - pair;
                rest[half] = {one == 0 ? T{1} : T{0}, one == 1 ? T{1} : T{0}};
            }
            rest[half] = less(less(rest[half], half == 0 ? even.upper : even.lower), half == 0 ? odd.upper : odd.lower);
        }
        thread.meet();
        Part last{};
        if (begin <= first) step(last, first);
        BASALT_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int own_row = row + 8 * half;
            rest[half] = less(rest[half], half == 0 ? last.upper : last.lower);
            store_pair<true>(memory.a + own_row * memory.ld + next + pair, rest[half]);
            if (top + 8 * half == next) {
                store_pair<true>(memory.square + (own_row - next) * group + pair, rest[half]);
            }
        }
        thread.meet();
    }
}

/// L's columns of a group.
template <class T, class Shape, class Thread>
BASALT_DEVICE void store_factor(const Thread& thread, const LeafMemory<T, Shape>& memory, const Leaf<T, Shape::tile>& l,
                                int first) {
    constexpr int rows_at_once = lanes / group, unrolled = 4;
    const int col = first + thread.lane % group, padded = l.padded();
    BASALT_ROLLED
    for (int top = first + thread.lane / group; top < padded; top += unrolled * rows_at_once) {
        T value[unrolled];
        BASALT_UNROLL
        for (int r = 0; r < unrolled; ++r) {
            value[r] = memory.a[(top + r * rows_at_once) * memory.ld + col];  // beyond the last row is the identity's
        }
        BASALT_UNROLL
        for (int r = 0; r < unrolled; ++r) {
            const int i = top + r * rows_at_once;
            if (i < l.order && col <= i) l.a[i * l.ld + col] = value[r];
        }
    }
}

/// The last warp, one group behind: L and the inverses, which row r of the identity has become column r of.
template <class T, class Shape, class Thread>
BASALT_DEVICE void store_groups(const Thread& thread, const LeafMemory<T, Shape>& memory,
                                const Leaf<T, Shape::tile>& l) {
    constexpr int tile = Shape::tile;
    const int padded = l.padded();
    const bool has_row = tile == lanes || thread.lane < tile;
    Magnitude<T> largest_l, largest_x;
    BASALT_ROLLED
    for (int first = 0; first < padded; first += group) {
        thread.meet();
        thread.meet();
        store_factor(thread, memory, l, first);
        const int own_tile = first / tile, col = first % tile;
        const T* const l_row = memory.a + (own_tile * tile + thread.lane) * memory.ld + first;
        const T* const x_row = memory.a + (memory.identity_row + thread.lane) * memory.ld + first;
        T* const inverse = l.inverses + own_tile * tile * tile + col * tile + thread.lane;
        BASALT_UNROLL
        for (int c = 0; c < group; ++c) {
            if (!has_row) continue;
            const T x = col + c < thread.lane ? T{0} : x_row[c];
            inverse[c * tile] = x;
            largest_x.take(x);
            largest_l.take(col + c <= thread.lane ? l_row[c] : T{0});
        }
        if (col + group < tile) continue;
        const double product = largest_l.of_lanes(thread) * largest_x.of_lanes(thread);
        if (thread.lane == 0) l.use_inverse[own_tile] = product <= largest_inverse ? 1 : 0;
        largest_l = largest_x = Magnitude<T>();
    }
}

/// The leaf is in `memory`, and the threads have met. Called by all threads of a block of at least the memory's
/// `warps`. Returns in its reporting_warp the number from 1 of the first pivot that is not positive, or 0; in the
/// others 0.
template <class T, class Shape, class Thread>
BASALT_DEVICE int factor_leaf(const Thread& thread, LeafMemory<T, Shape>& memory, const Leaf<T, Shape::tile>& l) {
    const int padded = l.padded();
    if (thread.warp < memory.row_warps) return factor_groups(thread, memory, padded);
    if (thread.warp < memory.first_identity_warp) {
        update_groups<false>(thread, memory, padded);
    } else if (thread.warp < memory.storing_warp) {
        update_groups<true>(thread, memory, padded);
    } else if (thread.warp == memory.storing_warp) {
        store_groups(thread, memory, l);
    } else {
        for (int first = 0; first < padded; first += group) {
            thread.meet();
            thread.meet();
        }
    }
    return 0;
}

}  // namespace basalt::cuda_detail::cholesky
