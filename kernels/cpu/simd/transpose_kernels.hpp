#pragma once

#include "kernels/cpu/simd/vector.hpp"

namespace basalt::simd {
namespace {

/// Moves columns between row-major storage and column-major scratch, a lanes x lanes block at a time.
template <class T, int Bytes>
struct Transpose {
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    static constexpr int lanes = V::lanes;
    static constexpr Index line = 64 / static_cast<Index>(sizeof(T));
    static constexpr Index ahead = 32;  // rows between the prefetch and the copy

    /// One butterfly of Eklundh's transposition: exchanges the off-diagonal Span x Span blocks of two
    /// registers.
    template <int Span, int... Lane>
    static void exchange(Type& a, Type& b, std::integer_sequence<int, Lane...>) {
        const Type first = __builtin_shufflevector(a, b, ((Lane & Span) ? lanes + Lane - Span : Lane)...);
        const Type second = __builtin_shufflevector(a, b, ((Lane & Span) ? lanes + Lane : Lane + Span)...);
        a = first;
        b = second;
    }

    template <int Span>
    __attribute__((always_inline)) static inline void butterflies(Type (&rows)[lanes]) {
        if constexpr (Span < lanes) {
#pragma GCC unroll 16
            for (int i = 0; i < lanes; ++i) {
                if ((i & Span) == 0) exchange<Span>(rows[i], rows[i + Span], std::make_integer_sequence<int, lanes>{});
            }
            butterflies<2 * Span>(rows);
        }
    }

    static void block(const T* from, Index from_ld, T* to, Index to_ld) {
        Type rows[lanes];
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) rows[i] = V::load(from + i * from_ld);
        butterflies<1>(rows);
#pragma GCC unroll 16
        for (int i = 0; i < lanes; ++i) V::store(to + i * to_ld, rows[i]);
    }

    static void scalar(Index rows, Index cols, const T* from, Index from_ld, T* to, Index to_ld) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; ++j) to[j * to_ld + i] = from[i * from_ld + j];
        }
    }

    /// to(j, i) = from(i, j), both row-major, `rows` x `cols` elements of from.
    static void transpose(Index rows, Index cols, const T* from, Index from_ld, T* to, Index to_ld) {
        Index i = 0;
        for (; i + lanes <= rows; i += lanes) {
            Index j = 0;
            for (; j + lanes <= cols; j += lanes) block(from + i * from_ld + j, from_ld, to + j * to_ld + i, to_ld);
            scalar(lanes, cols - j, from + i * from_ld + j, from_ld, to + j * to_ld + i, to_ld);
        }
        scalar(rows - i, cols, from + i * from_ld, from_ld, to + i, to_ld);
    }

    /// Into the second cache: rows lie far apart, where no hardware prefetcher looks and where they share few
    /// sets of the first cache.
    static void prefetch(Index rows, Index cols, const T* to, Index ld) {
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; j += line) __builtin_prefetch(to + i * ld + j, 1, 2);
        }
    }

    static void unpack_columns(Index rows, Index cols, const T* from, Index from_ld, T* to, Index to_ld) {
        for (Index i = 0; i < rows; i += lanes) {
            const Index count = rows - i < lanes ? rows - i : lanes;
            if (i + ahead + lanes <= rows) prefetch(lanes, cols, to + (i + ahead) * to_ld, to_ld);
            transpose(cols, count, from + i, from_ld, to + i * to_ld, to_ld);
        }
    }
};

}  // namespace
}  // namespace basalt::simd
