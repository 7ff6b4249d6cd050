#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/batch/small.hpp"
#include "kernels/cuda/batch/triangle_shape.hpp"

/// Cholesky of orders up to 96, in double precision 64, and solutions for one right-hand side: a matrix in the
/// registers of a warp or of a part of one. Lane l of a matrix in L lanes has rows l, l + L, l + 2 L and so on. Row l +
/// r L is kept up to column (r + 1) L - 1. So a lane multiplies few elements above the diagonal, and what lanes read of
/// a column serves several rows.
namespace basalt::cuda_detail::batch {

/// The lane's number where its row r is one of n, otherwise -1.
template <class Shape>
BASALT_DEVICE void find_rows(int own, int n, int (&there)[Shape::rows]) {
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) there[r] = own + r * Shape::own_lanes < n ? own : -1;
}

/// Reads what load_triangle() does. `adjacent`: rows lie next to each other, as in the lower triangle of a column-major
/// matrix. Otherwise each of a lane's rows needs an address of its own.
template <bool adjacent, class Shape, class T, class U>
BASALT_DEVICE void load_rows(const Operand<U>& a, int own, T (&row)[Shape::rows][Shape::order]) {
    constexpr int own_lanes = Shape::own_lanes;
    int there[Shape::rows];
    find_rows<Shape>(own, a.n, there);
    const Index down = adjacent ? 1 : a.down, apart = own_lanes * down;
    const T* column = a.a + own * down;
    BASALT_UNROLL
    for (int c = 0; c < Shape::order; ++c) {
        BASALT_UNROLL
        for (int r = 0; r < Shape::rows; ++r) {
            if (c >= Shape::columns(r)) continue;
            row[r][c] = T{0};
            if (there[r] >= (c < r * own_lanes ? 0 : c - r * own_lanes)) row[r][c] = column[r * apart];
        }
        column = recomputed(column + a.across);
    }
}

/// Zero in rows that are not there. Lanes that have no element of a column on or below the diagonal read none.
template <class Shape, class T, class U>
BASALT_DEVICE void load_triangle(const Operand<U>& a, int own, T (&row)[Shape::rows][Shape::order]) {
    if (a.down == 1) {
        load_rows<true, Shape>(a, own, row);
    } else {
        load_rows<false, Shape>(a, own, row);
    }
}

/// The upper half of a double, and all of a float.
BASALT_DEVICE int upper_bits(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32); }
BASALT_DEVICE int upper_bits(float x) { return std::bit_cast<int>(x); }

/// 1 / sqrt(x) for all x above zero with a relative error of about one rounding, zero for infinity, otherwise not a
/// finite number above zero. Without branches, which would keep the compiler from interleaving it with other work.
template <class Thread>
BASALT_DEVICE double pivot_root(const Thread& thread, double x) {
    // the estimate takes denormal numbers for zero
    const bool tiny = upper_bits(x) < 0x00100000;
    const double scaled = x * (tiny ? 0x1p108 : 1.0), y = thread.reciprocal_root_estimate(scaled);
    const double e = 1.0 - scaled * y * y, z = y + y * e * (e * 0.375 + 0.5);
    return (upper_bits(x) >= 0x7ff00000 ? y : z) * (tiny ? 0x1p54 : 1.0);
}
template <class Thread>
BASALT_DEVICE float pivot_root(const Thread& thread, float x) {
    const float y = thread.reciprocal_root_estimate(x), e = 1.0F - x * y * y;
    return upper_bits(x) >= 0x7f800000 ? y : y + 0.5F * y * e;
}

/// Whether L also goes to shared memory, its columns divided by their diagonal, and a right-hand side becomes D^-1 L^-1
/// b for the diagonal D of L.
enum class SharedCopy : bool { no, yes };

/// What a lane knows between two columns of its matrix.
template <class T, class Shape>
struct Elimination {
    T* columns;        ///< in shared memory: the diagonal's place in the first of two columns
    T* put;            ///< there: the lane's first row
    int present = 0;   ///< elements from there to the present column
    Chunk<T> first;    ///< of the present column
    int positive = 0;  ///< pivots up to the first one that is not above zero
    bool fine = true;
    int most_n;                ///< of the warp's matrices
    int written[Shape::rows];  ///< the lane's number where L's row goes to A, otherwise -1
    T* result;                 ///< where the lane's first row of L belongs, in the present column
    /// To the next column and row. Callers see to it that int holds a leading dimension.
    std::conditional_t<(Shape::order > 32), int, Index> across, down;
    T* copy = nullptr;  ///< where the lane's first row of L D^-1 belongs, in shared memory
    T x[Shape::rows];   ///< of a right-hand side, the elements that belong to the lane's rows

    /// Writes l, the lane's element in its row r of the present column of L, unless it lies above the diagonal, which
    /// is in row `first_row` of lane `diagonal`, or in a row that is not there.
    BASALT_DEVICE void write(int r, int first_row, int diagonal, T l) const {
        if (written[r] < (r > first_row ? 0 : diagonal)) return;
        result[static_cast<Index>(r * Shape::own_lanes) * down] = l;
    }
};

/// Columns `begin` to begin + steps - 1, and all behind them. The columns of `row` move one place to the left with
/// each, so that one loop serves several. A function for each loop: the compiler would not always unroll a loop over
/// them, and `row` can lie in registers only if it does.
template <int begin, SharedCopy copies, class Shape, class T, class Thread>
BASALT_DEVICE void eliminate_columns(const Thread& thread, Elimination<T, Shape>& state,
                                     T (&row)[Shape::rows][Shape::order]) {
    constexpr int own_lanes = Shape::own_lanes, rows = Shape::rows, size = Chunk<T>::size;
    constexpr int column_size = TriangleColumns<T, Shape>::column, first_row = begin / own_lanes;
    constexpr bool copied = copies == SharedCopy::yes;
    // doubles of order 48 would spill: L D^-1 is stored as soon as it is known, the next column's first chunk comes
    // last
    constexpr bool crowded = copied && sizeof(T) == 8 && Shape::order == 48;
    const int end = begin + Shape::steps < state.most_n ? begin + Shape::steps : state.most_n;
    BASALT_ROLLED
    for (int pass = begin; pass < end; pass += Shape::at_once) {
        BASALT_UNROLL
        for (int step = 0; step < Shape::at_once; ++step) {
            // with several steps in a pass, the compiler knows which of the two columns is which
            const T* const column = state.columns + (Shape::at_once > 1 ? step % 2 * column_size : state.present);
            state.present = column_size - state.present;
            const int next = Shape::at_once > 1 ? (step + 1) % 2 * column_size : state.present;
            const int diagonal = pass + step - first_row * own_lanes;  // the lane that has it
            T side = T{0};
            if constexpr (copied) {
                side = thread.from_lane(state.x[first_row], thread.lane / own_lanes * own_lanes + diagonal);
            }
            const T pivot = state.first.value[0];
            state.fine = state.fine && pivot > T{0};
            if (state.fine) ++state.positive;
            const T root = pivot_root(thread, pivot);
            T l[rows], factor[rows];
            --state.put;
            BASALT_UNROLL
            for (int r = first_row; r < rows; ++r) {
                l[r] = row[r][0] * root;
                if constexpr (copied) state.write(r, first_row, diagonal, l[r]);
                factor[r] = l[r] * root;  // columns are not scaled
                if constexpr (crowded) state.copy[(r - first_row) * own_lanes] = factor[r];
                row[r][0] = row[r][1] - factor[r] * state.first.value[1];
                state.put[next + r * own_lanes] = row[r][0];
            }
            thread.sync_warp();
            const Chunk<T> coming = crowded ? state.first : load_chunk(state.columns + next);
            BASALT_UNROLL
            for (int g = 0; g < (Shape::order - begin) / size; ++g) {
                const Chunk<T> chunk = g == 0 ? state.first : load_chunk(column + g * size);
                BASALT_UNROLL
                for (int e = 0; e < size; ++e) {
                    const int j = g * size + e;
                    BASALT_UNROLL
                    for (int r = first_row; r < rows; ++r) {
                        if (j > 1 && j < Shape::columns(r) - begin - step) {
                            row[r][j - 1] = row[r][j] - factor[r] * chunk.value[e];
                        }
                    }
                }
            }
            thread.sync_warp();  // the column has been read, and the next but one may come to its place
            BASALT_UNROLL
            for (int r = first_row; r < rows; ++r) {
                if constexpr (!copied) state.write(r, first_row, diagonal, l[r]);
                if constexpr (copied && !crowded) state.copy[(r - first_row) * own_lanes] = factor[r];
            }
            state.result = recomputed(state.result + state.across);
            if constexpr (copied) {
                state.copy += TriangleBoth<T, Shape>::ld(begin);
                const int own = thread.lane % own_lanes;
                T& x = state.x[first_row];
                x = own == diagonal ? side * root * root : own > diagonal ? x - factor[first_row] * side : x;
                BASALT_UNROLL
                for (int r = first_row + 1; r < rows; ++r) state.x[r] -= factor[r] * side;
            }
            state.first = crowded ? load_chunk(state.columns + next) : coming;
        }
    }
    if constexpr (begin + Shape::steps < Shape::order) {
        eliminate_columns<begin + Shape::steps, copies>(thread, state, row);
    }
}

/// Eliminates the matrix in `row`. L goes to A, unless it is discarded. All lanes of a warp come here, each with the
/// operand of its matrix; n = 0 for none. Returns INFO.
///
/// Right-looking, a column after the other. The next column goes to the lanes before the others are updated.
template <SharedCopy copies, class Shape, class T, class Thread>
BASALT_DEVICE int eliminate_triangle(const Thread& thread, Elimination<T, Shape>& state,
                                     TriangleColumns<T, Shape>& memory, const Operand<T>& a, FactorOutput output,
                                     T (&row)[Shape::rows][Shape::order]) {
    constexpr int own_lanes = Shape::own_lanes;
    const int own = thread.lane % own_lanes;
    state.most_n = static_cast<int>(thread.largest_of_lanes(static_cast<unsigned>(a.n)));
    find_rows<Shape>(own, output == FactorOutput::keep ? a.n : 0, state.written);
    state.result = a.a + own * a.down;
    state.across = static_cast<decltype(state.across)>(a.across);
    state.down = static_cast<decltype(state.down)>(a.down);
    state.columns = memory.columns + own_lanes;
    state.put = state.columns + own;
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) state.put[r * own_lanes] = row[r][0];
    thread.sync_warp();
    state.first = load_chunk(state.columns);
    eliminate_columns<0, copies>(thread, state, row);
    return state.positive < a.n ? state.positive + 1 : 0;
}

/// x := L^-1 x, where a lane has the elements of its rows. All lanes of a warp come here.
template <class Shape, class T, class Thread>
BASALT_DEVICE void substitute_forwards(const Thread& thread, const T (&row)[Shape::rows][Shape::order],
                                       const T (&reciprocal)[Shape::rows], T (&x)[Shape::rows]) {
    constexpr int own_lanes = Shape::own_lanes;
    const int own = thread.lane % own_lanes, first_lane = thread.lane - own;
    BASALT_UNROLL
    for (int c = 0; c < Shape::order; ++c) {
        const int at = c / own_lanes;
        const T value = thread.from_lane(x[at] * reciprocal[at], first_lane + c % own_lanes);
        x[at] = own == c % own_lanes ? value : own > c % own_lanes ? x[at] - row[at][c] * value : x[at];
        BASALT_UNROLL
        for (int r = at + 1; r < Shape::rows; ++r) x[r] -= row[r][c] * value;
    }
}

/// x := (L D^-1)^-T x for the same x and the diagonal D of L, with r counting down. The lane has column q of each
/// own_lanes columns of L D^-1: below(r, q, k) is its element in row k of rows r * own_lanes and behind.
template <class Shape, int r, class T, class Thread, class Start, class Below>
BASALT_DEVICE void substitute_backwards(const Thread& thread, int n, T (&x)[Shape::rows], const Start& start,
                                        const Below& below) {
    constexpr int own_lanes = Shape::own_lanes, rows_there = Shape::columns(r) - r * own_lanes;
    const int own = thread.lane % own_lanes, first_lane = thread.lane - own;
    start(std::integral_constant<int, r>());
    const bool there = own + r * own_lanes < n;
    if (!there) x[r] = T{0};
    const int in_group = there ? own : own_lanes;  // no update reaches rows that are not there
    BASALT_UNROLL
    for (int k = rows_there - 1; k >= 0; --k) {
        const T value = thread.from_lane(x[r], first_lane + k);
        if (in_group < k) x[r] -= below(r, r, k) * value;
        BASALT_UNROLL
        for (int q = 0; q < r; ++q) x[q] -= below(r, q, k) * value;
    }
    if constexpr (r > 0) substitute_backwards<Shape, r - 1>(thread, n, x, start, below);
}

/// A := L in place. All lanes of a warp come here, each with the operand of its matrix; n = 0 for none. Returns INFO.
template <class Shape, class T, class Thread>
BASALT_DEVICE int factor_in_lanes(const Thread& thread, TriangleColumns<T, Shape>& memory, const Operand<T>& a) {
    T row[Shape::rows][Shape::order];
    // two ways to load would take registers that the elimination needs
    load_rows<false, Shape>(a, thread.lane % Shape::own_lanes, row);
    Elimination<T, Shape> state;
    return eliminate_triangle<SharedCopy::no>(thread, state, memory, a, FactorOutput::keep, row);
}

template <class Shape, class T>
BASALT_DEVICE void load_side(const T* b, int own, int n, T (&x)[Shape::rows]) {
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) {
        const int i = own + r * Shape::own_lanes;
        x[r] = i < n ? b[i] : T{0};
    }
}
template <class Shape, class T>
BASALT_DEVICE void store_side(const T (&x)[Shape::rows], int own, int n, T* b) {
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) {
        const int i = own + r * Shape::own_lanes;
        if (i < n) b[i] = x[r];
    }
}

/// b := A^-1 b where the operand holds the factor of A. All lanes of a warp come here.
template <class Shape, class T, class Thread>
BASALT_DEVICE void solve_in_lanes(const Thread& thread, TriangleRows<T, Shape>& memory, const Operand<const T>& l,
                                  T* b) {
    constexpr int own_lanes = Shape::own_lanes, ld = TriangleRows<T, Shape>::ld;
    const int own = thread.lane % own_lanes;
    T row[Shape::rows][Shape::order], x[Shape::rows], reciprocal[Shape::rows];
    load_side<Shape>(b, own, l.n, x);
    load_triangle<Shape>(l, own, row);
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) {
        T diagonal = T{1};
        BASALT_UNROLL
        for (int c = r * own_lanes; c < Shape::columns(r); ++c) {
            // hidden, since the compiler would otherwise find the element by its number, in local memory
            const T element = in_advance(row[r][c]);
            if (own == c - r * own_lanes && c < l.n) diagonal = element;
        }
        reciprocal[r] = T{1} / diagonal;
    }
    substitute_forwards<Shape>(thread, row, reciprocal, x);
    const auto start = [&](auto group) {
        constexpr int r = decltype(group)::value;
        thread.sync_warp();  // the rows before have been read
        BASALT_UNROLL
        for (int c = 0; c < Shape::columns(r); ++c) memory.rows[own * ld + c] = row[r][c];
        thread.sync_warp();
    };
    const auto below = [&](int /*r*/, int q, int k) {
        return memory.rows[k * ld + q * own_lanes + own] * reciprocal[q];
    };
    BASALT_UNROLL
    for (int r = 0; r < Shape::rows; ++r) x[r] *= reciprocal[r];
    substitute_backwards<Shape, Shape::rows - 1>(thread, l.n, x, start, below);
    store_side<Shape>(x, own, l.n, b);
}

/// Factor and solve in one pass. b stays as it is where a pivot fails. Returns INFO.
template <class Shape, class T, class Thread>
BASALT_DEVICE int factor_solve_in_lanes(const Thread& thread, TriangleBoth<T, Shape>& memory, const Operand<T>& a,
                                        FactorOutput output, T* b) {
    using Both = TriangleBoth<T, Shape>;
    constexpr int own_lanes = Shape::own_lanes;
    const int own = thread.lane % own_lanes;
    T row[Shape::rows][Shape::order];
    Elimination<T, Shape> state;
    load_side<Shape>(b, own, a.n, state.x);
    load_rows<false, Shape>(a, own, row);
    state.copy = memory.l + own;
    const int failed = eliminate_triangle<SharedCopy::yes>(thread, state, memory, a, output, row);
    thread.sync_warp();
    const auto start = [](auto /*group*/) {};
    const auto below = [&](int r, int q, int k) {
        const int first = q * own_lanes;
        return memory.l[Both::offset(first) + own * Both::ld(first) + (r - q) * own_lanes + k];
    };
    substitute_backwards<Shape, Shape::rows - 1>(thread, a.n, state.x, start, below);
    store_side<Shape>(state.x, own, failed == 0 ? a.n : 0, b);
    return failed;
}

}  // namespace basalt::cuda_detail::batch
