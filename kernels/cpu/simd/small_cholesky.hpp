#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/masked_vector.hpp"

#if defined(__AVX512F__)

namespace basalt::simd {
namespace {

/// A = L L^T in place for one lower triangle of at most `registers` registers of rows: left-looking by panels of four
/// columns, which stay in registers, so that each element is read and written once. No lane is another matrix, so
/// nothing is interleaved. Later columns read L from an aligned copy. Elements above the diagonal are read, but change
/// nothing, and are not written: they need not be initialised.
///
/// A step waits for one division: columns of the panel lose x (x_q / d), with the diagonal element d, while the root of
/// d is under way, which scales x to the column of L.
template <class T, int registers>
class SmallCholesky {
  public:
    SmallCholesky(Index n, T* a, Index lda) : n_(n), a_(a), lda_(lda) {
        for (int r = 0; r < registers; ++r) rows_[r] = V::first(n - r * lanes);
    }

    /// Returns LAPACK's INFO.
    Index factor() {
        block(std::integral_constant<int, 0>{});
        block(std::integral_constant<int, 1>{});
        block(std::integral_constant<int, 2>{});
        block(std::integral_constant<int, 3>{});
        return info_;
    }

  private:
    using V = MaskedVector<T>;
    using Type = typename V::Type;
    using Some = typename V::Some;
    static constexpr int lanes = V::lanes;
    static constexpr int ld = registers * lanes;
    /// Its reciprocal is the smallest number with full precision.
    static constexpr T largest_divisor = T{1} / V::smallest_normal;

    /// Columns whose diagonal lies in register `first` of the rows.
    template <int first>
    void block(std::integral_constant<int, first>) {
        if constexpr (first < registers) {
            panels<first, 0>();
            panels<first, 4>();
            if constexpr (lanes == 16) panels<first, 8>();
            if constexpr (lanes == 16) panels<first, 12>();
        }
    }

    /// The panel whose first diagonal element lies in lane `at` of that register.
    template <int first, int at>
    __attribute__((always_inline)) void panels() {
        constexpr Index j = first * lanes + at;
        if (n_ >= j + 4) return panel<first, at, 4>();
        if constexpr (first == registers - 1) {  // the last rows lie in the last register
            if (n_ == j + 3) return panel<first, at, 3>();
            if (n_ == j + 2) return panel<first, at, 2>();
            if (n_ == j + 1) return panel<first, at, 1>();
        }
    }

    template <int first, int at, int width>
    void panel() {
        constexpr Index j = first * lanes + at;
        constexpr int rest = registers - first;
        Type x[width][rest];
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
#pragma GCC unroll 4
            for (int r = 0; r < rest; ++r) {
                x[c][r] = V::load_some(rows_[first + r], a_ + (j + c) * lda_ + (first + r) * lanes);
            }
        }
        subtract<first>(l_, j, x);
        const auto step = [&]<int c>(std::integral_constant<int, c>) __attribute__((always_inline)) {
            if constexpr (c < width) eliminate<at, c>(x, info_, j + c + 1);
        };
        step(std::integral_constant<int, 0>{});
        step(std::integral_constant<int, 1>{});
        step(std::integral_constant<int, 2>{});
        step(std::integral_constant<int, 3>{});
#pragma GCC unroll 4
        for (int c = 0; c < width; ++c) {
#pragma GCC unroll 4
            for (int r = 0; r < rest; ++r) {
                const Index row = (first + r) * lanes;
                V::store(l_ + (j + c) * ld + row, x[c][r]);
                const auto below = static_cast<Some>(r == 0 ? ~0U << (at + c) : ~0U);
                V::store_some(static_cast<Some>(rows_[first + r] & below), a_ + (j + c) * lda_ + row, x[c][r]);
            }
        }
    }

    /// Columns j .. of a panel lose the products of all columns on their left.
    template <int first, int width, int rest>
    __attribute__((always_inline)) static void subtract(const T* l, Index j, Type (&x)[width][rest]) {
        for (Index k = 0; k < j; ++k, l += ld) {
            Type left[rest];
#pragma GCC unroll 4
            for (int r = 0; r < rest; ++r) left[r] = V::load(l + (first + r) * lanes);
#pragma GCC unroll 4
            for (int c = 0; c < width; ++c) {
                const Type factor = V::splat(l[j + c]);
#pragma GCC unroll 4
                for (int r = 0; r < rest; ++r) x[c][r] = V::minus_product(x[c][r], left[r], factor);
            }
        }
    }

    /// Column c of a panel becomes one of L, and those behind it lose its products. `number` counts columns from 1.
    template <int at, int c, int width, int rest>
    __attribute__((always_inline)) static void eliminate(Type (&x)[width][rest], Index& info, Index number) {
        const T pivot = x[c][0][at + c], root = square_root(pivot);
        const bool is_normal = pivot >= V::smallest_normal && pivot <= largest_divisor;
        T reciprocal = T{1} / pivot, scale = root * reciprocal;
        if (__builtin_expect(!is_normal, 0)) {  // no reciprocal, or no root
            if (!(pivot > T{}) && info == 0) info = number;
            reciprocal = scale = T{1} / root;
        }
#pragma GCC unroll 4
        for (int q = c + 1; q < width; ++q) {
            Type factor = V::splat(x[c][0][at + q]) * V::splat(reciprocal);
            if (__builtin_expect(!is_normal, 0)) factor *= V::splat(scale);
#pragma GCC unroll 4
            for (int r = 0; r < rest; ++r) x[q][r] = V::minus_product(x[q][r], x[c][r], factor);
        }
#pragma GCC unroll 4
        for (int r = 0; r < rest; ++r) x[c][r] *= V::splat(scale);
        x[c][0] = V::blend(static_cast<Some>(1U << (at + c)), V::splat(root), x[c][0]);
    }

    static T square_root(T x) {
        if constexpr (sizeof(T) == 4) return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
        if constexpr (sizeof(T) == 8) return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set_sd(x)));
    }

    const Index n_;
    T* const a_;
    const Index lda_;
    Some rows_[registers];  ///< that the matrix has
    Index info_ = 0;
    alignas(64) T l_[ld * ld];
};

}  // namespace
}  // namespace basalt::simd

#endif
