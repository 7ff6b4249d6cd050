#pragma once

#include <utility>

#include "kernels/cpu/simd/kernels.hpp"

// Everything below has internal linkage: see kernels.hpp.
namespace basalt::simd {
namespace {

/// A register of `Bytes` bytes of T as a GCC vector, and what loads and stores it unaligned.
template <class T, int Bytes>
struct Vector {
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

    typedef T Type __attribute__((vector_size(Bytes)));
    typedef Bits Mask __attribute__((vector_size(Bytes)));
    typedef T Unaligned __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));

    static Type load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
    static void store(T* p, Type v) { *reinterpret_cast<Unaligned*>(p) = v; }
    static Type splat(T value) { return value - Type{}; }

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

template <class T>
T magnitude(T value) {
    return value < T{} ? -value : value;
}

}  // namespace
}  // namespace basalt::simd
