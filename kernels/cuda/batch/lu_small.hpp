#pragma once

#include "kernels/cuda/batch/pivot_keys.hpp"
#include "kernels/cuda/batch/small.hpp"

/// LU of orders up to 32: a matrix in the registers of a warp or of a part of one, a row to a lane.
///
/// Rows do not change lanes: each lane knows the place of its row in the order of the pivots. So pivoting costs a
/// search and no exchange, and rows go to their places when they are written. A row that was a pivot goes on to be
/// changed with the others, which saves asking in each instruction; what counts of it lies in shared memory.
namespace basalt::cuda_detail::batch {

/// A whole column-major matrix of rows x cols; rows = 0 for none.
template <class T>
struct Whole {
    T* a;
    Index ld;
    int rows, cols;

    BASALT_DEVICE bool holds(int i, int j) const { return i < rows && j < cols; }
    BASALT_DEVICE T* at(int i, int j) const { return a + i + j * ld; }
    /// Strides of rows and columns.
    BASALT_DEVICE static constexpr Index down() { return 1; }
    BASALT_DEVICE Index across() const { return ld; }
    /// Padded with the identity.
    BASALT_DEVICE T load(int i, int j) const { return holds(i, j) ? *at(i, j) : i == j ? T{1} : T{0}; }
};

template <class T>
BASALT_DEVICE Whole<T> whole(const View<T>& matrix) {
    return {matrix.data(), matrix.col_stride(), static_cast<int>(matrix.rows()), static_cast<int>(matrix.cols())};
}

/// Of a matrix: what belongs to two rows of the right-hand sides.
template <class T>
struct SmallSides {
    static constexpr int most_sides = 4;
    T sides[2][most_sides];
};

/// And its rows from the diagonal on, in the order of the pivots, with the pivots' reciprocals two at a time.
template <class T, class Shape>
struct SmallRows : SmallSides<T> {
    static constexpr int ld = Shape::order + Chunk<T>::size;  ///< chunks of eight rows lie in different banks
    alignas(16) T rows[Shape::order][ld];
    T reciprocals[2];
};

/// A lane's row of a matrix and what goes with it.
template <class T, class Shape, int sides>
struct LuRow {
    T row[Shape::order];
    T b[sides > 0 ? sides : 1];
    int place;
    int pivot;  ///< IPIV of the step with the lane's number
    int info;
};

/// Eliminates the rows of a matrix of order n, and `sides` right-hand sides with them. All lanes of a warp come here.
template <Pivoting pivoting, int sides, class T, class Shape, class Thread>
BASALT_DEVICE void eliminate_rows(const Thread& thread, SmallRows<T, Shape>& memory, int n,
                                  LuRow<T, Shape, sides>& lane) {
    constexpr int size = Chunk<T>::size, order = Shape::order;
    const int own = thread.lane % Shape::own_lanes;
    const int first_step = own < n ? 0 : n;  // in which the row may be the pivot: padding follows the matrix
    lane.place = own;
    lane.pivot = own + 1;
    lane.info = 0;
    BASALT_UNROLL
    for (int k = 0; k < order; ++k) {
        T reciprocal{};
        const auto prepare = [&] { reciprocal = in_advance(reciprocal_or_zero(thread, lane.row[k])); };
        bool best = lane.place == k;
        if constexpr (pivoting == Pivoting::partial) {
            // no branch, so that the rest of the last step goes on meanwhile
            const unsigned key = pivot_key(lane.row[k], lane.place, k) & (k < first_step ? 0U : 0xffffffffU);
            const unsigned found = best_lane_of_group<Shape::own_lanes, T>(
                thread, key, best, [&] { return magnitude_bits(lane.row[k]).low; }, [&] { return lane.place; },
                prepare);
            const int chosen = thread.from_lane(lane.place, lowest_bit(found));
            if (own == k) lane.pivot = chosen + 1;
            lane.place = best ? k : lane.place == k ? chosen : lane.place;
        } else {
            prepare();
        }
        T* const row = memory.rows[k];
        if (best) {
            BASALT_UNROLL
            for (int j = k / size * size; j < order; ++j) row[j] = lane.row[j];
            // those of the next but one row come here only after all lanes have met again, with these read
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) memory.sides[k % 2][s] = lane.b[s];
            memory.reciprocals[k % 2] = reciprocal;
        }
        thread.sync_warp();
        const Chunk<T> first = load_chunk(row + k / size * size);
        const T pivot = first.value[k % size], factor = memory.reciprocals[k % 2];
        if (lane.info == 0 && is_zero(pivot)) lane.info = k + 1;
        T m = lane.row[k] * factor;
        if (__builtin_expect(is_zero(factor), 0)) m = lane.row[k] / pivot;
        lane.row[k] = m;
        BASALT_UNROLL
        for (int g = k / size; g < order / size; ++g) {
            const Chunk<T> chunk = g == k / size ? first : load_chunk(row + g * size);
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) {
                if (g * size + e > k) lane.row[g * size + e] -= m * chunk.value[e];
            }
        }
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (lane.place > k) lane.b[s] -= m * memory.sides[k % 2][s];
        }
    }
    const T* const upper = memory.rows[lane.place < order ? lane.place : 0];
    BASALT_UNROLL
    for (int g = 0; g < order / size; ++g) {
        const Chunk<T> chunk = load_chunk(upper + g * size);
        BASALT_UNROLL
        for (int e = 0; e < size; ++e) {
            if (g * size + e >= lane.place) lane.row[g * size + e] = chunk.value[e];
        }
    }
}

/// b := U^-1 b; afterwards lane.b is the unknown with the number of the lane's place.
template <int sides, class T, class Shape, class Thread>
BASALT_DEVICE void substitute_upper(const Thread& thread, SmallSides<T>& memory, LuRow<T, Shape, sides>& lane) {
    thread.sync_warp();  // what was read of the last row of an elimination
    BASALT_UNROLL
    for (int k = Shape::order - 1; k >= 0; --k) {
        T* const solved = memory.sides[k % 2];
        if (lane.place == k) {
            BASALT_UNROLL
            for (int s = 0; s < sides; ++s) solved[s] = lane.b[s] /= lane.row[k];
        }
        thread.sync_warp();
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (lane.place < k) lane.b[s] -= lane.row[k] * solved[s];
        }
    }
    thread.sync_warp();
}

/// b := L^-1 b for factors whose rows lie in the order of the pivots, with a unit diagonal.
template <int sides, class T, class Shape, class Thread>
BASALT_DEVICE void substitute_unit_lower(const Thread& thread, LuRow<T, Shape, sides>& lane) {
    const int own = thread.lane % Shape::own_lanes, first = thread.lane - own;
    BASALT_UNROLL
    for (int k = 0; k < Shape::order; ++k) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const T solved = thread.from_lane(lane.b[s], first + k);
            if (own > k) lane.b[s] -= lane.row[k] * solved;
        }
    }
}

/// Columns of a that a lane's row has: none in lanes behind the matrix.
template <class T>
BASALT_DEVICE int row_length(const Whole<T>& a, int own) {
    return own < a.rows ? a.cols : 0;
}

/// The first column is loaded last, and volatile keeps that order: what the first step computes from it comes after
/// all loads. Otherwise the compiler puts it between them, and a lane waits for memory twice.
template <class Shape, int sides, class T>
BASALT_DEVICE void load_row(const Whole<T>& a, int own, LuRow<std::remove_const_t<T>, Shape, sides>& lane) {
    const int length = row_length(a, own);
    T* from = a.a + own + (Shape::order - 1) * a.ld;
    BASALT_UNROLL
    for (int j = Shape::order - 1; j >= 0; --j, from = recomputed(from - a.ld)) {
        lane.row[j] = j < length ? *static_cast<const volatile T*>(from) : j == own ? T{1} : T{0};
    }
}

template <class Shape, int sides, class T>
BASALT_DEVICE void store_row(const Whole<T>& a, int own, const LuRow<T, Shape, sides>& lane) {
    // hidden from the compiler, which would keep both from the loads on
    const int length = recomputed(row_length(a, own));
    for_each_apart<Shape::order>(recomputed(a.a) + lane.place, a.ld, [&](int j, T* element) {
        if (j < length) *element = lane.row[j];
    });
}

/// A := its factors, in place. `pivots` is not read without pivoting. Returns INFO.
template <class Shape, Pivoting pivoting, class T, class Thread>
BASALT_DEVICE int lu_factor_small(const Thread& thread, SmallRows<T, Shape>& memory, const Whole<T>& a, Index* pivots) {
    const int own = thread.lane % Shape::own_lanes;
    LuRow<T, Shape, 0> lane;
    load_row<Shape>(a, own, lane);
    eliminate_rows<pivoting, 0>(thread, memory, a.rows, lane);
    store_row<Shape>(a, own, lane);
    if (pivoting == Pivoting::partial && own < a.rows) pivots[own] = lane.pivot;
    return lane.info;
}

/// A := its factors and b := A^-1 b, in one pass, for one right-hand side. It stays as it is where INFO, which is
/// returned, is not 0.
template <class Shape, class T, class Thread>
BASALT_DEVICE int lu_factor_solve_small(const Thread& thread, SmallRows<T, Shape>& memory, const Whole<T>& a,
                                        Index* pivots, T* b) {
    const int own = thread.lane % Shape::own_lanes;
    LuRow<T, Shape, 1> lane;
    load_row<Shape>(a, own, lane);
    lane.b[0] = own < a.rows ? b[own] : T{0};
    eliminate_rows<Pivoting::partial, 1>(thread, memory, a.rows, lane);
    store_row<Shape>(a, own, lane);
    if (own < a.rows) pivots[own] = lane.pivot;
    substitute_upper(thread, memory, lane);
    if (lane.info == 0 && own < a.rows) b[lane.place] = lane.b[0];
    return lane.info;
}

/// The row of A that the exchanges bring to the lane's. `pivots` is null without pivoting.
template <class Shape, class Thread>
BASALT_DEVICE int exchanged_row(const Thread& thread, int n, const Index* pivots) {
    const int own = thread.lane % Shape::own_lanes, first = thread.lane - own;
    const int pivot = pivots != nullptr && own < n ? static_cast<int>(pivots[own]) - 1 : own;
    int source = own;
    BASALT_ROLLED
    for (int k = 0; k < Shape::order; ++k) {
        const int other = thread.from_lane(pivot, first + k);
        const int here = thread.from_lane(source, first + k), there = thread.from_lane(source, first + other);
        source = own == k ? there : own == other ? here : source;
    }
    return source;
}

/// B := A^-1 B with the factors of A.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE void lu_solve_small(const Thread& thread, SmallSides<T>& memory, const Whole<const T>& a,
                                  const Index* pivots, const RightSides<T>& right) {
    const int own = thread.lane % Shape::own_lanes;
    const int source = exchanged_row<Shape>(thread, a.rows, pivots);
    LuRow<T, Shape, sides> lane;
    load_row<Shape>(a, own, lane);
    lane.place = own;
    for (Index first = 0; first < right.cols; first += sides) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            lane.b[s] = own < a.rows && first + s < right.cols ? right.b[source + (first + s) * right.ld] : T{0};
        }
        thread.sync_warp();  // all have read before one writes
        substitute_unit_lower<sides>(thread, lane);
        substitute_upper(thread, memory, lane);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (own < a.rows && first + s < right.cols) right.b[own + (first + s) * right.ld] = lane.b[s];
        }
    }
}

/// C := A^-1 with the factors of A, which may lie in C's place. Returns INFO; C stays as it is where that is not 0.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE int lu_invert_small(const Thread& thread, SmallSides<T>& memory, const Whole<const T>& a,
                                  const Index* pivots, const Whole<T>& inverse) {
    const int own = thread.lane % Shape::own_lanes, begin = thread.lane - own;
    const int source = exchanged_row<Shape>(thread, a.rows, pivots);
    LuRow<T, Shape, sides> lane;
    load_row<Shape>(a, own, lane);
    lane.place = own;
    int info = 0;
    BASALT_UNROLL
    for (int k = Shape::order - 1; k >= 0; --k) {
        if (thread.from_lane(lane.row[k], begin + k) == T{0}) info = k + 1;
    }
    // all lanes of the warp take as many steps
    BASALT_ROLLED
    for (int first = 0; first < Shape::order; first += sides) {
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) lane.b[s] = source == first + s ? T{1} : T{0};
        substitute_unit_lower<sides>(thread, lane);
        substitute_upper(thread, memory, lane);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (info == 0 && inverse.holds(own, first + s)) *inverse.at(own, first + s) = lane.b[s];
        }
    }
    return info;
}

}  // namespace basalt::cuda_detail::batch
