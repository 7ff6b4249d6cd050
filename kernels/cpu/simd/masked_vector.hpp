#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/cpu/simd/vector.hpp"

#if defined(__AVX512F__)

namespace basalt::simd {
namespace {

/// A register of 64 bytes with one bit of a mask for each lane.
template <class T>
struct MaskedVector : Vector<T, 64> {
    using V = Vector<T, 64>;
    using Type = typename V::Type;
    using V::lanes;
    using Some = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

    /// The first `count` lanes; none where it is negative, and all where there are fewer.
    static Some first(Index count) {
        return static_cast<Some>(count >= lanes ? -1 : count > 0 ? (Index{1} << count) - 1 : 0);
    }

    static Type load_some(Some some, const T* p) {
        if constexpr (sizeof(T) == 4) return _mm512_maskz_loadu_ps(some, p);
        if constexpr (sizeof(T) == 8) return _mm512_maskz_loadu_pd(some, p);
    }
    static void store_some(Some some, T* p, Type v) {
        if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(p, some, v);
        if constexpr (sizeof(T) == 8) _mm512_mask_storeu_pd(p, some, v);
    }
    static Type blend(Some some, Type yes, Type no) {
        if constexpr (sizeof(T) == 4) return _mm512_mask_mov_ps(no, some, yes);
        if constexpr (sizeof(T) == 8) return _mm512_mask_mov_pd(no, some, yes);
    }
    /// Products, and zero in the other lanes.
    static Type multiply_some(Some some, Type a, Type b) {
        if constexpr (sizeof(T) == 4) return _mm512_maskz_mul_ps(some, a, b);
        if constexpr (sizeof(T) == 8) return _mm512_maskz_mul_pd(some, a, b);
    }
    /// Element i of both, counted through, for each i of `from`, modulo 2 * lanes.
    static Type pick_from(Type low, Type high, __m512i from) {
        if constexpr (sizeof(T) == 4) return _mm512_permutex2var_ps(low, from, high);
        if constexpr (sizeof(T) == 8) return _mm512_permutex2var_pd(low, from, high);
    }

    /// Bits of magnitudes: integers are ordered as the numbers are, and NaN is larger than infinity.
    typedef Bits Magnitudes __attribute__((vector_size(64)));

    static Magnitudes magnitudes(Some some, Type v) {
        const auto all = reinterpret_cast<__m512i>(V::magnitude(v));
        if constexpr (sizeof(T) == 4) return reinterpret_cast<Magnitudes>(_mm512_maskz_mov_epi32(some, all));
        if constexpr (sizeof(T) == 8) return reinterpret_cast<Magnitudes>(_mm512_maskz_mov_epi64(some, all));
    }
    static Magnitudes larger(Magnitudes x, Magnitudes y) { return x > y ? x : y; }
    /// The larger of each lane and the one whose number differs in bit `Apart`.
    template <int Apart, int... Lane>
    static Magnitudes larger_of_pairs(Magnitudes v, std::integer_sequence<int, Lane...>) {
        return larger(v, __builtin_shufflevector(v, v, (Lane ^ Apart)...));
    }
    /// The largest of all lanes, in each.
    static Magnitudes largest(Magnitudes v) {
        constexpr std::make_integer_sequence<int, lanes> all;
        if constexpr (lanes == 16) v = larger_of_pairs<8>(v, all);
        v = larger_of_pairs<4>(v, all);
        v = larger_of_pairs<2>(v, all);
        return larger_of_pairs<1>(v, all);
    }
    static Some equal(Some some, Magnitudes x, Magnitudes y) {
        const auto a = reinterpret_cast<__m512i>(x), b = reinterpret_cast<__m512i>(y);
        if constexpr (sizeof(T) == 4) return _mm512_mask_cmpeq_epi32_mask(some, a, b);
        if constexpr (sizeof(T) == 8) return _mm512_mask_cmpeq_epi64_mask(some, a, b);
    }
};

}  // namespace
}  // namespace basalt::simd

#endif
