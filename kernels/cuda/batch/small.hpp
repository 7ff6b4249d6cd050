#pragma once

#include <bit>

#include "kernels/cuda/batch/eliminate.hpp"

/// Orders up to 32: a matrix in the registers of a warp or of a part of one, a row to a lane. Of Cholesky, for several
/// right-hand sides.
namespace basalt::cuda_detail::batch {

/// Of matrices whose order is at most `most`.
template <class T, int most>
struct SmallShape {
    static constexpr int order = most;  ///< padded
    static constexpr int own_lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(most)));
    static constexpr int in_warp = lanes / own_lanes;
    static constexpr int threads = 64;  ///< of a block: few, since registers limit the number of blocks
    /// Of rows in shared memory: odd, so that lanes meet in no bank along rows or columns.
    static constexpr int ld = most + 1;

    static_assert(most % Chunk<T>::size == 0 && most <= lanes);
};

/// Of a matrix. The columns are read in chunks.
template <class T, class Shape>
struct SmallColumns {
    alignas(16) T columns[2 * Shape::order];
};
template <class T, class Shape>
struct SmallFactor {
    alignas(16) T l[Shape::order * Shape::ld];  ///< row-major
};
template <class T, class Shape>
struct SmallBoth : SmallColumns<T, Shape>, SmallFactor<T, Shape> {};

/// Right-hand sides of a matrix: column-major, n x cols.
template <class T>
struct RightSides {
    T* b;
    Index ld;
    Index cols;
};

/// A := L in place, unless it is discarded. All lanes of a warp come here, each with the operand of its matrix; n = 0
/// for none. The row of L stays in `row`. Returns INFO.
template <class Shape, class T, class Thread>
BASALT_DEVICE int factor_small(const Thread& thread, SmallColumns<T, Shape>& memory, const Operand<T>& a,
                               FactorOutput output, T (&row)[Shape::order]) {
    const int own = thread.lane % Shape::own_lanes;
    T* const first = a.a + own * a.down;
    for_each_apart<Shape::order>(first, a.across, [&](int j, const T* element) {
        row[j] = a.holds(own, j) ? *element : own == j ? T{1} : T{0};
    });
    const int failed = eliminate<SquareRows::here, 2>(thread, row, memory.columns, own);
    for_each_apart<Shape::order>(first, a.across, [&](int j, T* element) {
        if (output == FactorOutput::keep && a.holds(own, j)) *element = row[j];
    });
    return failed;
}

/// X := L^-T L^-1 B in the lanes' registers, `sides` right-hand sides at once; L lies in `memory`.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE void substitute_small(const Thread& thread, const SmallFactor<T, Shape>& memory, T (&x)[sides]) {
    constexpr int order = Shape::order, ld = Shape::ld;
    const int own = thread.lane % Shape::own_lanes, first = thread.lane - own;
    const int stored = own < order ? own : order - 1;
    const T reciprocal = T{1} / memory.l[stored * ld + stored];
    BASALT_UNROLL
    for (int k = 0; k < order; ++k) {
        const T l = memory.l[stored * ld + k];
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const T solved = thread.from_lane(x[s] * reciprocal, first + k);
            x[s] = own == k ? solved : own > k ? x[s] - l * solved : x[s];
        }
    }
    BASALT_UNROLL
    for (int k = order - 1; k >= 0; --k) {
        const T l = memory.l[k * ld + stored];
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            const T solved = thread.from_lane(x[s] * reciprocal, first + k);
            x[s] = own == k ? solved : own < k ? x[s] - l * solved : x[s];
        }
    }
}

/// The same for all columns of B. `n` is 0 where B is to stay as it is; `cols` is the same for all lanes of a warp.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE void solve_small(const Thread& thread, const SmallFactor<T, Shape>& memory, int n,
                               const RightSides<T>& right) {
    const int own = thread.lane % Shape::own_lanes;
    for (Index first = 0; first < right.cols; first += sides) {
        T x[sides];
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            x[s] = own < n && first + s < right.cols ? right.b[own + (first + s) * right.ld] : T{0};
        }
        substitute_small<Shape>(thread, memory, x);
        BASALT_UNROLL
        for (int s = 0; s < sides; ++s) {
            if (own < n && first + s < right.cols) right.b[own + (first + s) * right.ld] = x[s];
        }
    }
}

/// B := A^-1 B where the operand holds the factor of A.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE void load_solve_small(const Thread& thread, SmallFactor<T, Shape>& memory, const Operand<const T>& l,
                                    const RightSides<T>& right) {
    const int own = thread.lane % Shape::own_lanes;
    BASALT_UNROLL
    for (int j = 0; j < Shape::order; ++j) {
        if (own < Shape::order) memory.l[own * Shape::ld + j] = l.load(own, j);
    }
    thread.sync_warp();
    solve_small<Shape, sides>(thread, memory, l.n, right);
}

/// Factor and solve in one pass. B stays as it is where a pivot fails. Returns INFO.
template <class Shape, int sides, class T, class Thread>
BASALT_DEVICE int factor_solve_small(const Thread& thread, SmallBoth<T, Shape>& memory, const Operand<T>& a,
                                     FactorOutput output, const RightSides<T>& right) {
    const int own = thread.lane % Shape::own_lanes;
    T row[Shape::order];
    const int failed = factor_small<Shape>(thread, static_cast<SmallColumns<T, Shape>&>(memory), a, output, row);
    BASALT_UNROLL
    for (int j = 0; j < Shape::order; ++j) {
        if (own < Shape::order) memory.l[own * Shape::ld + j] = row[j];
    }
    thread.sync_warp();
    solve_small<Shape, sides>(thread, static_cast<const SmallFactor<T, Shape>&>(memory), failed == 0 ? a.n : 0, right);
    return failed;
}

}  // namespace basalt::cuda_detail::batch
