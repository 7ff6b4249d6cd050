#pragma once

#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// The leaf of the panel: sweeps over packed columns, and the search for the largest magnitude on the way.
template <class T, int Bytes>
struct Columns {
    using V = Vector<T, Bytes>;
    using One = Single<T>;
    using Type = typename V::Type;
    using Mask = typename V::Mask;
    using Bits = typename V::Bits;
    static constexpr int lanes = V::lanes;

    /// Running maxima of `lanes` interleaved stretches. NaN compares false, so it is never taken, and a later
    /// equal value never replaces an earlier one.
    struct Maxima {
        Type magnitude = V::splat(T{-1});
        Mask row = Mask{};

        __attribute__((always_inline)) void take(Type x, Mask at) {
            const Type size = V::magnitude(x);
            const Mask larger = size > magnitude;
            magnitude = larger ? size : magnitude;
            row = larger ? at : row;
        }
    };

    static void merge(Candidate<T>& best, T size, Index row) {
        if (size > best.magnitude || (size == best.magnitude && row < best.row)) best = {size, row};
    }

    static void merge(Candidate<T>& best, const Maxima& maxima) {
        for (int i = 0; i < lanes; ++i) {
            if (maxima.magnitude[i] >= T{}) merge(best, maxima.magnitude[i], maxima.row[i]);
        }
    }

    /// The columns of one sweep. Rank columns of L at l, the last of them still to be scaled.
    template <int Rank, Scaling scaling>
    struct Sweep {
        T* l;
        Index ldl;
        T scale;
        const T* u;
        T* x;

        template <class Value>
        static Value scaled(Value value, T by) {
            return scaling == Scaling::multiply ? value * by : scaling == Scaling::divide ? value / by : value;
        }

        /// The rows from i on that a register R holds: V, or One with the same bits.
        template <class R>
        __attribute__((always_inline)) typename R::Type at(Index i) const {
            typename R::Type value = R::load(x + i);
            if constexpr (Rank > 0) {
#pragma GCC unroll 4
                for (int q = 0; q + 1 < Rank; ++q) {
                    value = R::minus_product(value, R::load(l + q * ldl + i), R::splat(u[q]));
                }
                T* last = l + (Rank - 1) * ldl + i;
                const typename R::Type factor = scaled(R::load(last), scale);
                if constexpr (scaling != Scaling::none) R::store(last, factor);
                value = R::minus_product(value, factor, R::splat(u[Rank - 1]));
                R::store(x + i, value);
            }
            return value;
        }
    };

    template <int Rank, Scaling scaling>
    static Candidate<T> sweep(Index rows, const Sweep<Rank, scaling>& columns) {
        Candidate<T> best{T{-1}, -1};
        const auto take_one = [&](Index i) {
            const T size = One::magnitude(columns.template at<One>(i));
            if (size > best.magnitude) best = {size, i};
        };
        // up to a whole register: loads across cache lines cost double
        const Index misplaced = static_cast<Index>(reinterpret_cast<std::uintptr_t>(columns.x) % Bytes / sizeof(T));
        Index i = 0;
        for (; misplaced + i < lanes && misplaced > 0 && i < rows; ++i) take_one(i);
        constexpr Index chunk = 4 * lanes;  // four chains of maxima hide the latency of compare and blend
        if (rows - i >= chunk) {
            Maxima maxima[4];
            Mask at = V::lane_numbers() + static_cast<Bits>(i);
            for (; i + chunk <= rows; i += chunk, at += static_cast<Bits>(chunk)) {
#pragma GCC unroll 4
                for (int v = 0; v < 4; ++v) {
                    maxima[v].take(columns.template at<V>(i + v * lanes), at + static_cast<Bits>(v * lanes));
                }
            }
            for (const Maxima& m : maxima) merge(best, m);
        }
        for (; i < rows; ++i) take_one(i);
        return best;
    }

    template <int Rank>
    static Candidate<T> scaled_sweep(Index rows, T* l, Index ldl, Scaling scaling, T scale, const T* u, T* x) {
        switch (scaling) {
            case Scaling::multiply: return sweep(rows, Sweep<Rank, Scaling::multiply>{l, ldl, scale, u, x});
            case Scaling::divide: return sweep(rows, Sweep<Rank, Scaling::divide>{l, ldl, scale, u, x});
            default: return sweep(rows, Sweep<Rank, Scaling::none>{l, ldl, scale, u, x});
        }
    }

    static Candidate<T> update_column(Index rows, Index rank, T* l, Index ldl, Scaling scaling, T scale, const T* u,
                                      T* x) {
        switch (rank) {
            case 0: return sweep(rows, Sweep<0, Scaling::none>{l, ldl, scale, u, x});
            case 1: return scaled_sweep<1>(rows, l, ldl, scaling, scale, u, x);
            case 2: return scaled_sweep<2>(rows, l, ldl, scaling, scale, u, x);
            case 3: return scaled_sweep<3>(rows, l, ldl, scaling, scale, u, x);
            default: return scaled_sweep<4>(rows, l, ldl, scaling, scale, u, x);
        }
    }

    /// Depth registers R (V or One) of rows of Cols columns stay in registers while the rank runs.
    template <class R, int Depth, int Cols>
    static void block(Index rank, const T* l, Index ldl, const T* u, Index ldu, T* x, Index ldx) {
        using Value = typename R::Type;
        Value sum[Cols][Depth] = {};
        for (Index q = 0; q < rank; ++q, l += ldl, u += ldu) {
            Value factor[Depth];
#pragma GCC unroll 4
            for (int v = 0; v < Depth; ++v) factor[v] = R::load(l + v * R::lanes);
#pragma GCC unroll 8
            for (int c = 0; c < Cols; ++c) {
#pragma GCC unroll 4
                for (int v = 0; v < Depth; ++v) sum[c][v] = R::plus_product(sum[c][v], factor[v], R::splat(u[c]));
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < Cols; ++c) {
#pragma GCC unroll 4
            for (int v = 0; v < Depth; ++v) {
                T* at = x + c * ldx + v * R::lanes;
                R::store(at, R::load(at) - sum[c][v]);
            }
        }
    }

    template <class R, int Depth>
    static void block_row(Index cols, Index rank, const T* l, Index ldl, const T* u, Index ldu, T* x, Index ldx) {
        constexpr int wide = Bytes == 64 ? 8 : 4;  // 32 registers or 16
        Index c = 0;
        for (; c + wide <= cols; c += wide) block<R, Depth, wide>(rank, l, ldl, u + c, ldu, x + c * ldx, ldx);
        for (; c + 2 <= cols; c += 2) block<R, Depth, 2>(rank, l, ldl, u + c, ldu, x + c * ldx, ldx);
        for (; c < cols; ++c) block<R, Depth, 1>(rank, l, ldl, u + c, ldu, x + c * ldx, ldx);
    }

    static void update_block(Index rows, Index cols, Index rank, const T* l, Index ldl, const T* u, Index ldu, T* x,
                             Index ldx) {
        constexpr int depth = Bytes == 64 ? 3 : 2;
        Index i = 0;
        for (; i + depth * lanes <= rows; i += depth * lanes)
            block_row<V, depth>(cols, rank, l + i, ldl, u, ldu, x + i, ldx);
        for (; i + lanes <= rows; i += lanes) block_row<V, 1>(cols, rank, l + i, ldl, u, ldu, x + i, ldx);
        for (; i < rows; ++i) block_row<One, 1>(cols, rank, l + i, ldl, u, ldu, x + i, ldx);
    }

    static void update_row(Index first, Index last, Index from, Index to, const T* u, Index ldu, T* row) {
        for (Index k = first / lanes * lanes; k < last; k += lanes) {
            const Type before = V::load(row + k);
            Type value = before;
            for (Index q = from; q < to; ++q) {
                value = V::minus_product(value, V::splat(row[q]), V::load(u + q * ldu + k));
            }
            const Mask column = V::lane_numbers() + static_cast<Bits>(k);
            V::store(row + k, column >= static_cast<Bits>(first) && column < static_cast<Bits>(last) ? value : before);
        }
    }

    static void scale_column(Index rows, Scaling scaling, T scale, T* x) {
        if (scaling == Scaling::multiply) {
            for (Index i = 0; i < rows; ++i) x[i] *= scale;
        } else if (scaling == Scaling::divide) {
            for (Index i = 0; i < rows; ++i) x[i] /= scale;
        }
    }
};

}  // namespace
}  // namespace basalt::simd
