#pragma once

#include "kernels/cuda/batch/qr_block.hpp"

/// Least squares of wide systems A X = B, of m equations for n > m unknowns: with A^T = Q R, X = Q (R^-T B, 0) is the
/// shortest solution. R^T is the lower triangle of A's factors, which are LAPACK's LQ factors.
namespace basalt::cuda_detail::batch {

/// A matrix of rows x cols whose transpose is column-major.
template <class T>
struct Transposed {
    T* a;
    Index ld;
    int rows, cols;

    BASALT_DEVICE bool holds(int i, int j) const { return i < rows && j < cols; }
    BASALT_DEVICE T* at(int i, int j) const { return a + j + i * ld; }
    BASALT_DEVICE Index down() const { return ld; }
    BASALT_DEVICE static constexpr Index across() { return 1; }
};

/// A wide system. A matrix without columns counts as one without rows, so that its solution is zero as LAPACK's.
template <class T>
BASALT_DEVICE Whole<T> wide(const Whole<T>& a) {
    return a.cols == 0 ? Whole<T>{a.a, a.ld, 0, a.rows} : a;
}

/// R and the reflectors lie in `memory`. A lane has a right-hand side. B stays as it is where INFO, which is returned,
/// is not 0.
template <class Shape, class T, class Thread>
BASALT_DEVICE int shortest_small_columns(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a,
                                         QrColumn<T, Shape>& lane, const RightSides<T>& right) {
    constexpr int order = Shape::order;
    const int own = thread.lane % Shape::own_lanes;
    const int info = first_zero_small(memory, a.rows);
    put_factors(thread, memory, lane.tau);
    for (Index begin = 0; begin < right.cols; begin += Shape::own_lanes) {
        const bool there = begin + own < right.cols;
        const int given = there ? a.rows : 0, wanted = there && info == 0 ? a.cols : 0;
        T* const b = right.b + (begin + own) * right.ld;
        BASALT_UNROLL
        for (int i = 0; i < order; ++i) lane.x[i] = i < given ? b[i] : T{0};
        BASALT_UNROLL
        for (int k = 0; k < order; ++k) {
            if (k >= a.rows) continue;
            lane.x[k] /= memory.square[k * Shape::ld + k];
            BASALT_UNROLL
            for (int i = k + 1; i < order; ++i) {
                if (i < a.rows) lane.x[i] -= memory.square[k * Shape::ld + i] * lane.x[k];
            }
        }
        BASALT_UNROLL
        for (int k = order - 1; k >= 0; --k) reflect_lane(thread, memory, k, lane.x);
        BASALT_UNROLL
        for (int i = 0; i < order; ++i) {
            if (i < wanted) b[i] = lane.x[i];
        }
    }
    return info;
}

/// A := its LQ factors, B := X. All lanes of a warp come here; the number of right-hand sides is the same for all.
/// Returns INFO: the first zero on the diagonal of R, or 0.
template <class Shape, class T, class Thread>
BASALT_DEVICE int wide_least_squares_small(const Thread& thread, SmallVectors<T, Shape>& memory, const Whole<T>& a,
                                           const RightSides<T>& right) {
    constexpr int order = Shape::order;
    const int own = thread.lane % Shape::own_lanes, length = row_length(a, own);
    QrColumn<T, Shape> lane;  // a row of A
    T* element = recomputed(a.a + own);
    BASALT_UNROLL
    for (int i = 0; i < order; ++i, element = recomputed(element + a.ld)) lane.x[i] = i < length ? *element : T{0};
    reflect_all(thread, memory, a.rows, lane);
    element = recomputed(a.a + own);
    BASALT_UNROLL
    for (int i = 0; i < order; ++i, element = recomputed(element + a.ld)) {
        if (own < order) memory.square[i * Shape::ld + own] = lane.x[i];
        if (i < length) *element = lane.x[i];
    }
    thread.sync_warp();
    return shortest_small_columns(thread, memory, a, lane, right);
}

/// Of a block: what else it needs in shared memory.
template <class T>
struct WideMemory {
    T* x;    ///< a right-hand side, padded to a warp
    T* tau;  ///< of all reflectors

    static std::size_t bytes(int m) { return static_cast<std::size_t>(2 * lu_block_threads(m)) * sizeof(T); }
    BASALT_DEVICE WideMemory(T* data, int m) : x(data), tau(data + padded_to_warp(m)) {}
};

/// The same by a block, which has a thread for each column of A. Returns INFO in all threads.
template <int width, int parts, class T, class Thread>
BASALT_DEVICE int wide_least_squares_block(const Thread& thread, const QrBlockMemory<T, width>& memory,
                                           const WideMemory<T>& more, const Whole<T>& a, const RightSides<T>& right) {
    const int number = thread.warp * lanes + thread.lane, order = padded_to_warp(a.rows);
    const Transposed<T> tall{a.a, a.ld, a.cols, a.rows};
    qr_reflect_block<width, parts>(thread, memory, tall, more.tau, RightSides<T>{nullptr, 1, 0});
    const int info = first_zero_of_block(thread, more.x, a, a.rows);
    if (info > 0) return info;
    const Whole<const T> lower{a.a, a.ld, a.rows, a.rows};
    for (Index c = 0; c < right.cols; ++c) {
        T* const b = right.b + c * right.ld;
        if (number < order) more.x[number] = number < a.rows ? b[number] : T{0};
        thread.sync();
        substitute_block<Triangle::lower, Diagonal::stored, 1>(thread, lower, more.x, order);
        if (number < a.cols) b[number] = number < a.rows ? more.x[number] : T{0};
        thread.sync();
    }
    BASALT_ROLLED
    for (int j = a.rows > 0 ? (a.rows - 1) / width * width : -1; j >= 0; j -= width) {
        load_reflectors(thread, memory, tall, more.tau, j, a.rows);
        reflect_columns<Operation::plain, width, parts>(thread, memory, right.b, 1, right.ld, a.cols, 0,
                                                        static_cast<int>(right.cols));
        thread.sync();
    }
    return 0;
}

}  // namespace basalt::cuda_detail::batch
