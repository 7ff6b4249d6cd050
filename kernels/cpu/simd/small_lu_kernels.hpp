#pragma once

#include <utility>

#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/small_lu.hpp"

namespace basalt::simd {
namespace {

#if defined(__AVX512F__)

/// `count` matrices from the i-th on.
template <class T, int registers, int count, int... I>
void factor_group(const SmallLuOperands<T>& o, Index i, std::integer_sequence<int, I...>) {
    SmallLu<T, registers> lu[count] = {((void)I, SmallLu<T, registers>(o.n))...};
    const T* next[count];
    for (Index k = 0; k < count; ++k) {
        const Index behind = i + count + k;
        next[k] = behind < o.count ? o.a[behind] : behind - o.count < o.next_count ? o.next[behind - o.count] : nullptr;
    }
    SmallLu<T, registers>::factor(lu, o.a + i, o.lda, next);
    if (o.cols > 0) SmallLu<T, registers>::solve(lu, o.cols, o.b + i, o.ldb);
    for (int k = 0; k < count; ++k) {
        if (o.lu != nullptr) lu[k].store(o.lu[i + k], o.ldlu);
        if (o.pivots != nullptr) lu[k].store_pivots(o.pivots[i + k]);
        o.info[i + k] = lu[k].info();
    }
}

/// As many at once as keep a processor busy.
template <class T, int registers>
void factor_in_groups(const SmallLuOperands<T>& o) {
    constexpr int together = registers == 1 ? 4 : registers == 2 ? 2 : 1;
    Index i = 0;
    for (; i + together <= o.count; i += together) {
        factor_group<T, registers, together>(o, i, std::make_integer_sequence<int, together>{});
    }
    for (; i < o.count; ++i) factor_group<T, registers, 1>(o, i, std::make_integer_sequence<int, 1>{});
}

/// The table's entries.
template <class T>
struct SmallLus {
    static constexpr Index lanes = MaskedVector<T>::lanes, most_rows = 4 * lanes;

    static void factor(const SmallLuOperands<T>& operands) {
        if (operands.n <= lanes) return factor_in_groups<T, 1>(operands);
        if (operands.n <= 2 * lanes) return factor_in_groups<T, 2>(operands);
        if (operands.n <= 3 * lanes) return factor_in_groups<T, 3>(operands);
        factor_in_groups<T, 4>(operands);
    }
};

#else

template <class T>
struct SmallLus {
    static constexpr Index most_rows = 0;
    static constexpr void (*factor)(const SmallLuOperands<T>&) = nullptr;
};

#endif

}  // namespace
}  // namespace basalt::simd
