#pragma once

#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// A leaf of QR, column by column: a reflector on the columns to its right and, on the way, the sums that the next one
/// is made of.
template <class T, int Bytes>
struct Reflect {
    using V = Vector<T, Bytes>;
    using One = Single<T>;
    using Type = typename V::Type;
    static constexpr Index lanes = V::lanes;
    static constexpr int group = 8;  // columns of a sweep: their sums stay in registers

    static T sum_of(Type v) {
        T sum{};
        for (int i = 0; i < lanes; ++i) sum += v[i];
        return sum;
    }

    /// Columns that are read alone, or changed as well.
    template <bool Update>
    using Column = std::conditional_t<Update, T, const T>;

    /// x_c -= w_c v for Cols columns, if Update; sums_c = y^T x_c, y being `y` or, where it is null, the first of them.
    template <bool Update, int Cols>
    static void sweep(Index rows, const T* v, const T* y, const T* w, Column<Update>* x, Index ldx, T* sums) {
        Type sum[Cols] = {};
        Index i = 0;
        for (; i + lanes <= rows; i += lanes) {
            Type left{}, first{};
            if constexpr (Update) left = V::load(v + i);
            if (y != nullptr) first = V::load(y + i);
#pragma GCC unroll 8
            for (int c = 0; c < Cols; ++c) {
                Type value = V::load(x + c * ldx + i);
                if constexpr (Update) {
                    value = V::minus_product(value, left, V::splat(w[c]));
                    V::store(x + c * ldx + i, value);
                }
                if (c == 0 && y == nullptr) first = value;
                sum[c] = V::plus_product(sum[c], first, value);
            }
        }
#pragma GCC unroll 8
        for (int c = 0; c < Cols; ++c) sums[c] = sum_of(sum[c]);
        for (; i < rows; ++i) {
            for (int c = 0; c < Cols; ++c) {
                if constexpr (Update) x[c * ldx + i] = One::minus_product(x[c * ldx + i], v[i], w[c]);
                sums[c] = One::plus_product(sums[c], y != nullptr ? y[i] : x[i], x[c * ldx + i]);
            }
        }
    }

    template <bool Update, int Cols>
    static void sweep_some(Index cols, Index rows, const T* v, const T* y, const T* w, Column<Update>* x, Index ldx,
                           T* sums) {
        if (cols == Cols) return sweep<Update, Cols>(rows, v, y, w, x, ldx, sums);
        if constexpr (Cols > 1) sweep_some<Update, Cols - 1>(cols, rows, v, y, w, x, ldx, sums);
    }

    template <bool Update>
    static void sweeps(Index rows, Index cols, const T* v, const T* y, const T* w, Column<Update>* x, Index ldx,
                       T* sums) {
        for (Index c = 0; c < cols; c += group) {
            const Index some = cols - c < group ? cols - c : group;
            sweep_some<Update, group>(some, rows, v, c > 0 && y == nullptr ? x : y, w + c, x + c * ldx, ldx, sums + c);
        }
    }

    static void reflect(Index rows, Index cols, T scale, T* v, const T* w, T* x, Index ldx, T* sums) {
        Index i = 0;
        for (; i + lanes <= rows; i += lanes) V::store(v + i, V::load(v + i) * V::splat(scale));
        for (; i < rows; ++i) v[i] *= scale;
        sweeps<true>(rows, cols, v, nullptr, w, x, ldx, sums);
    }

    static void dots(Index rows, Index cols, const T* y, const T* x, Index ldx, T* sums) {
        sweeps<false>(rows, cols, nullptr, y, nullptr, x, ldx, sums);
    }
};

}  // namespace
}  // namespace basalt::simd
