#pragma once

#include <utility>

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "kernels/cpu/simd/kernels.hpp"

// Everything below has internal linkage: see kernels.hpp.
namespace basalt::simd {
namespace {

// Products that are added or subtracted. Each is rounded once where the instruction set multiplies and adds in one
// instruction, and twice where it has none: in vectors of any size and in single elements alike. The compiler may not
// choose (-ffp-contract=off), because it chooses loop by loop: GCC 13 leaves a lone chain of sums unfused, and fuses
// the same sums where several chains run side by side.

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__FP_FAST_FMA)
constexpr bool fused = true;
#else
constexpr bool fused = false;
#endif

/// sum + a b
template <class T>
T plus_product(T sum, T a, T b) {
    if constexpr (!fused) {
        return sum + a * b;
    } else if constexpr (sizeof(T) == sizeof(float)) {
        return __builtin_fmaf(a, b, sum);
    } else {
        return __builtin_fma(a, b, sum);
    }
}

/// A register of `Bytes` bytes of T as a GCC vector, and what loads and stores it unaligned.
template <class T, int Bytes>
struct Vector {
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

    typedef T Type __attribute__((vector_size(Bytes)));
    typedef Bits Mask __attribute__((vector_size(Bytes)));
    typedef T Unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));

    /// Smaller magnitudes but zero have no reciprocal of full precision, or none at all.
    static constexpr T smallest_normal = sizeof(T) == 4 ? T(__FLT_MIN__) : T(__DBL_MIN__);

    static Type load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
    static void store(T* p, Type v) { *reinterpret_cast<Unaligned*>(p) = v; }
    static Type splat(T value) { return value - Type{}; }

    /// sum + a b in every lane.
    static Type plus_product(Type sum, Type a, Type b) {
#if defined(__AVX512F__)
        if constexpr (Bytes == 64 && sizeof(T) == 8) return _mm512_fmadd_pd(a, b, sum);
        if constexpr (Bytes == 64 && sizeof(T) == 4) return _mm512_fmadd_ps(a, b, sum);
#endif
#if defined(__FMA__)
        if constexpr (Bytes == 32 && sizeof(T) == 8) return _mm256_fmadd_pd(a, b, sum);
        if constexpr (Bytes == 32 && sizeof(T) == 4) return _mm256_fmadd_ps(a, b, sum);
#endif
        return plus_products(sum, a, b);
    }

    /// from - a b in every lane.
    static Type minus_product(Type from, Type a, Type b) {
#if defined(__AVX512F__)
        if constexpr (Bytes == 64 && sizeof(T) == 8) return _mm512_fnmadd_pd(a, b, from);
        if constexpr (Bytes == 64 && sizeof(T) == 4) return _mm512_fnmadd_ps(a, b, from);
#endif
#if defined(__FMA__)
        if constexpr (Bytes == 32 && sizeof(T) == 8) return _mm256_fnmadd_pd(a, b, from);
        if constexpr (Bytes == 32 && sizeof(T) == 4) return _mm256_fnmadd_ps(a, b, from);
#endif
        return plus_products(from, -a, b);
    }

    /// plus_product() where no instruction is named: compilers make one of the loop where there is one.
    static Type plus_products(Type sum, Type a, Type b) {
        if constexpr (!fused) return sum + a * b;
        for (int i = 0; i < lanes; ++i) sum[i] = simd::plus_product<T>(sum[i], a[i], b[i]);
        return sum;
    }

    static Type magnitude(Type v) {
        constexpr Bits all_but_sign = static_cast<Bits>(~(std::uint64_t{1} << (8 * sizeof(T) - 1)));
        return reinterpret_cast<Type>(reinterpret_cast<Mask>(v) & all_but_sign);
    }

    static Mask lane_numbers() {
        Mask numbers;
        for (int i = 0; i < lanes; ++i) numbers[i] = i;
        return numbers;
    }
};

/// One element instead of a register, for rows that do not fill one: kernels are written once for both.
template <class T>
struct Single {
    static constexpr int lanes = 1;
    using Type = T;

    static T load(const T* p) { return *p; }
    static void store(T* p, T v) { *p = v; }
    static T splat(T value) { return value; }
    static T plus_product(T sum, T a, T b) { return simd::plus_product<T>(sum, a, b); }
    static T minus_product(T from, T a, T b) { return simd::plus_product<T>(from, -a, b); }
    static T magnitude(T value) { return value < T{} ? -value : value; }
};

}  // namespace
}  // namespace basalt::simd
