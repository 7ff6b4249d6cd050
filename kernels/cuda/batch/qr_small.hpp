#pragma once

#include "kernels/cuda/batch/lu_small.hpp"

/// QR of up to 32 rows and columns: a matrix in the registers of a warp or of a part of one, a column to a lane.
///
/// With columns in lanes, no sum crosses lanes: the column of a step goes to shared memory, from where all lanes read
/// it, and each takes the norm, and the dot product with its own column, by itself.
namespace basalt::cuda_detail::batch {

/// Of a matrix: two columns of steps, read in chunks, the first of which holds the reflectors' factors afterwards
/// (put_factors()); and the square.
template <class T, class Shape>
struct SmallVectors {
    alignas(16) T column[2][Shape::order];
    T square[Shape::order * Shape::ld];  ///< an odd leading dimension: lanes meet in no bank along rows or columns
};

/// The reflector I - weight u u^T of a column x, multiplied before by a factor that brings its squares into their
/// range: x becomes (beta, 0, ...) with u = (head, x_2, x_3, ...). LAPACK's form is I - tau v v^T with v = scale u.
template <class T>
struct Reflector {
    T beta, head, weight;
    T tau, scale;
};

// Sums of squares in between are accurate. Products of such columns with others are finite up to elements of about 1e32
// in single precision and 1e207 in double.
template <class T>
inline constexpr T least_square = sizeof(T) == 4 ? T(1e-12) : T(1e-200);
template <class T>
inline constexpr T most_square = sizeof(T) == 4 ? T(1e12) : T(1e200);

/// A factor that brings a column into its range, and its inverse.
template <class T>
struct RangeFactor {
    T factor = T{1}, inverse = T{1};
};
/// For the largest magnitude of a column; one where it has zeros only, or NaN.
template <class T>
BASALT_DEVICE RangeFactor<T> range_factor(T largest) {
    if (!(largest > T{0}) || largest > std::numeric_limits<T>::max()) return {};
    const T least = std::numeric_limits<T>::min(), bounded = largest > least ? largest : least;
    return {T{1} / bounded, bounded};
}

/// From the first element and the sum of squares of the others, both multiplied by the factor. One root and one
/// reciprocal, both by iteration, because each division of doubles is a call of a function, and no branch. Squares that
/// are not finite give NaN.
template <class T, class Thread>
BASALT_DEVICE Reflector<T> make_reflector(const Thread& thread, T first, T tail, T inverse_factor) {
    const bool none = tail == T{0}, negative = first < T{0};
    const T square = none ? T{1} : first * first + tail;
    const T inverse = normal_reciprocal_root(thread, square), estimate = square * inverse;
    const T root = estimate + (square - estimate * estimate) * (T{0.5} * inverse);
    const T sum = root + (negative ? -first : first), reciprocal = normal_reciprocal(thread, sum);
    return {none ? first * inverse_factor : (negative ? root : -root) * inverse_factor,  //
            negative ? -sum : sum,                                                       //
            none ? T{0} : inverse * reciprocal,                                          //
            none ? T{0} : sum * inverse,                                                 //
            none       ? T{0}
            : negative ? -reciprocal
                       : reciprocal};
}

/// A lane's column of a matrix, and what goes with it.
template <class T, class Shape>
struct QrColumn {
    T x[Shape::order];
    T tau;            ///< of the reflector with the lane's number
    T scale, factor;  ///< of that reflector: what is below the diagonal is multiplied by both in the end
};

/// Of elements k + 1 .. of a column in shared memory: the sum of squares, and the dot product with a lane's column.
template <class T>
struct TailSums {
    T square, dot;
};
template <int k, int order, class T>
BASALT_DEVICE TailSums<T> tail_sums(const T* column, const T (&x)[order]) {
    constexpr int size = Chunk<T>::size;
    T squares[2] = {}, dots[2] = {};
    BASALT_UNROLL
    for (int g = (k + 1) / size; g < order / size; ++g) {
        const Chunk<T> chunk = load_chunk(column + g * size);
        BASALT_UNROLL
        for (int e = 0; e < size; ++e) {
            if (g * size + e <= k) continue;
            squares[e % 2] += chunk.value[e] * chunk.value[e];
            dots[e % 2] += chunk.value[e] * x[g * size + e];
        }
    }
    return {squares[0] + squares[1], dots[0] + dots[1]};
}

/// A column whose squares leave the range of the numbers is multiplied by a factor in its place. Lanes of other
/// matrices of the warp come along.
template <class Shape, class T, class Thread>
BASALT_DEVICE RangeFactor<T> bring_into_range(const Thread& thread, T* column, int k, bool needed) {
    const int own = thread.lane % Shape::own_lanes;
    T largest{};
    BASALT_ROLLED
    for (int i = k; i < Shape::order; ++i) {
        const T m = magnitude(column[i]);
        largest = m <= largest ? largest : m;
    }
    const RangeFactor<T> range = needed ? range_factor(largest) : RangeFactor<T>();
    thread.sync_warp();
    if (own >= k && own < Shape::order) column[own] *= range.factor;
    thread.sync_warp();
    return range;
}

/// Step k of the factorization: all lanes' columns lose their part along the reflector of column k.
template <int k, class T, class Shape, class Thread>
BASALT_DEVICE void reflect_step(const Thread& thread, SmallVectors<T, Shape>& memory, int steps,
                                QrColumn<T, Shape>& lane) {
    constexpr int size = Chunk<T>::size, order = Shape::order;
    const int own = thread.lane % Shape::own_lanes;
    T* const column = memory.column[k % 2];
    if (own == k) {
        BASALT_UNROLL
        for (int i = 0; i < order; ++i) column[i] = lane.x[i];
    }
    thread.sync_warp();
    TailSums<T> tail = tail_sums<k>(column, lane.x);
    const T square = column[k] * column[k] + tail.square;
    const bool out = !(square >= least_square<T> && square <= most_square<T>);
    RangeFactor<T> range;
    bool poisoned = false;
    // the same for all lanes of the warp, because they meet there
    bool any = out;
    BASALT_UNROLL
    for (int distance = lanes / 2; distance >= Shape::own_lanes; distance /= 2) {
        const int other = thread.from_lane(any ? 1 : 0, thread.lane ^ distance);
        any = any || other != 0;
    }
    if (any) {
        range = bring_into_range<Shape>(thread, column, k, out);
        tail = tail_sums<k>(column, lane.x);
        poisoned = !(tail.square + magnitude(column[k]) <= std::numeric_limits<T>::max());
    }
    const Reflector<T> h = make_reflector(thread, column[k], tail.square, range.inverse);
    // only so that the compiler reads a large column again below in place of keeping it in registers (decision 34)
    if constexpr (sizeof(T) * order > 64) thread.sync_warp();
    if (k >= steps) return;
    if (own == k) {
        lane.x[k] = h.beta;
        lane.tau = h.tau;
        lane.scale = h.scale;
        lane.factor = range.factor;
    }
    if (poisoned && own <= k) return;  // not even a NaN of this step may reach finished lanes
    const T weight = own > k ? h.weight * (h.head * lane.x[k] + tail.dot) : T{0};
    lane.x[k] = own > k ? lane.x[k] - weight * h.head : lane.x[k];
    BASALT_UNROLL
    for (int g = (k + 1) / size; g < order / size; ++g) {
        const Chunk<T> chunk = load_chunk(column + g * size);
        BASALT_UNROLL
        for (int e = 0; e < size; ++e) {
            if (g * size + e > k) lane.x[g * size + e] -= weight * chunk.value[e];
        }
    }
}

template <int k, class T, class Shape, class Thread>
BASALT_DEVICE void reflect_steps(const Thread& thread, SmallVectors<T, Shape>& memory, int steps,
                                 QrColumn<T, Shape>& lane) {
    if constexpr (k < Shape::order) {
        reflect_step<k>(thread, memory, steps, lane);
        reflect_steps<k + 1>(thread, memory, steps, lane);
    }
}

/// All steps: the lanes' columns become those of R and of the reflectors.
template <class T, class Shape, class Thread>
BASALT_DEVICE void reflect_all(const Thread& thread, SmallVectors<T, Shape>& memory, int steps,
                               QrColumn<T, Shape>& lane) {
    const int own = thread.lane % Shape::own_lanes;
    lane.tau = T{0};
    lane.scale = lane.factor = T{1};
    reflect_steps<0>(thread, memory, steps, lane);
    BASALT_UNROLL
    for (int i = 1; i < Shape::order; ++i) {
        if (i > own) lane.x[i] = lane.x[i] * lane.factor * lane.scale;
    }
}

/// The factors of all lanes' reflectors for reflect_lane(). They take the place of a column of the steps.
template <class T, class Shape, class Thread>
BASALT_DEVICE void put_factors(const Thread& thread, SmallVectors<T, Shape>& memory, T tau) {
    const int own = thread.lane % Shape::own_lanes;
    if (own < Shape::order) memory.column[0][own] = tau;
    thread.sync_warp();
}

/// A lane's column x := (I - tau v v^T) x. v of reflector k lies below the diagonal of the square. The lanes meet only
/// so that the compiler does not read elements long before they are used.
template <class T, class Shape, class Thread>
BASALT_DEVICE void reflect_lane(const Thread& thread, const SmallVectors<T, Shape>& memory, int k,
                                T (&x)[Shape::order]) {
    T sums[2] = {x[k], T{0}};
    BASALT_UNROLL
    for (int i = k + 1; i < Shape::order; ++i) {
        sums[i % 2] += memory.square[i * Shape::ld + k] * x[i];
        if (sizeof(T) * Shape::order >= 192 && i % 8 == 7) thread.sync_warp();
    }
    thread.sync_warp();
    const T weight = memory.column[0][k] * (sums[0] + sums[1]);
    x[k] -= weight;
    BASALT_UNROLL
    for (int i = k + 1; i < Shape::order; ++i) {
        x[i] -= weight * memory.square[i * Shape::ld + k];
        if (sizeof(T) * Shape::order >= 192 && i % 16 == 15) thread.sync_warp();
    }
}

/// INFO of gels: the number of the first zero among the first n elements of the diagonal of R, or 0.
template <class T, class Shape>
BASALT_DEVICE int first_zero_small(const SmallVectors<T, Shape>& memory, int n) {
    int info = 0;
    BASALT_ROLLED
    for (int k = n - 1; k >= 0; --k) {
        if (memory.square[k * Shape::ld + k] == T{0}) info = k + 1;
    }
    return info;
}

/// A to shared memory, and zeros behind it. The loop is that of for_each_apart(), whose use would change the machine
/// code of kernels as it was measured.
template <class T, class Shape, class Thread>
BASALT_DEVICE void load_square(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a) {
    const int own = thread.lane % Shape::own_lanes, length = row_length(a, own);
    const T* from = a.a + own;
    BASALT_UNROLL
    for (int j = 0; j < Shape::order; ++j, from = recomputed(from + a.ld)) {
        if (own < Shape::order) memory.square[own * Shape::ld + j] = j < length ? *from : T{0};
    }
    thread.sync_warp();
}

/// Columns of A to lanes, through shared memory, so that neighbouring lanes read neighbouring rows. Zero elsewhere.
template <class T, class Shape, class Thread>
BASALT_DEVICE void load_columns(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a,
                                T (&x)[Shape::order]) {
    const int own = thread.lane % Shape::own_lanes;
    load_square(thread, memory, a);
    BASALT_UNROLL
    for (int i = 0; i < Shape::order; ++i) {
        x[i] = own < Shape::order ? memory.square[i * Shape::ld + own] : T{0};
    }
    thread.sync_warp();
}

template <class T, class Shape, class Thread>
BASALT_DEVICE void store_columns(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a,
                                 const T (&x)[Shape::order]) {
    const int own = thread.lane % Shape::own_lanes;
    BASALT_UNROLL
    for (int i = 0; i < Shape::order; ++i) {
        if (own < Shape::order) memory.square[i * Shape::ld + own] = x[i];
    }
    thread.sync_warp();
    const int length = row_length(a, own);
    for_each_apart<Shape::order>(a.a + own, a.ld, [&](int j, T* element) {
        if (j < length) *element = memory.square[own * Shape::ld + j];
    });
    thread.sync_warp();
}

/// For A = Q R of m >= n: B := R^-1 Q^T B in the first n rows of B. R and the reflectors lie in `memory`. A lane has a
/// right-hand side. Returns INFO: the first zero on the diagonal of R, or 0. B stays as it is where that is not 0.
template <class Shape, class T, class Thread>
BASALT_DEVICE int solve_small_columns(const Thread& thread, SmallVectors<T, Shape>& memory, int rows, int cols,
                                      QrColumn<T, Shape>& lane, const RightSides<T>& right) {
    constexpr int order = Shape::order;
    const int own = thread.lane % Shape::own_lanes;
    const int info = first_zero_small(memory, cols);
    put_factors(thread, memory, lane.tau);
    for (Index begin = 0; begin < right.cols; begin += Shape::own_lanes) {
        const bool there = begin + own < right.cols;
        T* const b = right.b + (begin + own) * right.ld;
        BASALT_UNROLL
        for (int i = 0; i < order; ++i) lane.x[i] = there && i < rows ? b[i] : T{0};
        BASALT_UNROLL
        for (int k = 0; k < order; ++k) reflect_lane(thread, memory, k, lane.x);
        BASALT_UNROLL
        for (int k = order - 1; k >= 0; --k) {
            if (k >= cols) continue;
            lane.x[k] /= memory.square[k * Shape::ld + k];
            BASALT_UNROLL
            for (int i = 0; i < k; ++i) lane.x[i] -= memory.square[i * Shape::ld + k] * lane.x[k];
        }
        BASALT_UNROLL
        for (int i = 0; i < order; ++i) {
            if (info == 0 && there && i < rows) b[i] = lane.x[i];
        }
    }
    return info;
}

/// A := R and reflectors, tau[k] their factors, if tau is not null. Where there are right-hand sides, which takes
/// m >= n, they become solutions of the least squares, and INFO is returned as by solve_small_columns. All lanes of a
/// warp come here; the number of right-hand sides is the same for all.
template <class Shape, class T, class Thread>
BASALT_DEVICE int qr_factor_small(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a, T* tau,
                                  const RightSides<T>& right) {
    const int own = thread.lane % Shape::own_lanes, steps = a.rows < a.cols ? a.rows : a.cols;
    QrColumn<T, Shape> lane;
    load_columns(thread, memory, a, lane.x);
    reflect_all(thread, memory, steps, lane);
    store_columns(thread, memory, a, lane.x);
    if (tau != nullptr && own < steps) tau[own] = lane.tau;
    // all of the factored square is in memory now
    return right.cols > 0 ? solve_small_columns(thread, memory, a.rows, a.cols, lane, right) : 0;
}

/// A (m x n, its first k columns hold reflectors) := the first n columns of Q.
template <class Shape, class T, class Thread>
BASALT_DEVICE void qr_form_small(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a, const T* tau,
                                 int reflectors) {
    constexpr int order = Shape::order;
    const int own = thread.lane % Shape::own_lanes;
    // reflectors lie below the diagonal of the square; columns of Q in registers
    load_square(thread, memory, Whole<T>{a.a, a.ld, a.rows, reflectors});
    put_factors(thread, memory, own < reflectors ? tau[own] : T{0});
    T x[order];
    BASALT_UNROLL
    for (int i = 0; i < order; ++i) x[i] = i == own ? T{1} : T{0};
    BASALT_UNROLL
    for (int k = order - 1; k >= 0; --k) reflect_lane(thread, memory, k, x);
    thread.sync_warp();
    store_columns(thread, memory, a, x);
}

}  // namespace basalt::cuda_detail::batch
