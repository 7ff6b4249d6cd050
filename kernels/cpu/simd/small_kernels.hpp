#pragma once

#include <utility>

#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/small_cholesky.hpp"
#include "kernels/cpu/simd/small_lu.hpp"

namespace basalt::simd {
namespace {

#if defined(__AVX512F__)

/// The table's kernels for matrices of up to four registers of rows that are not interleaved.
template <class T>
struct SmallKernels {
    static constexpr Index lanes = MaskedVector<T>::lanes, order = 4 * lanes;

    static void lu(const SmallLuOperands<T>& operands) {
        with_registers(operands.n, [&]<int registers>(std::integral_constant<int, registers>) {
            // as many chains of instructions as keep a processor busy
            in_groups<registers == 1   ? 4
                      : registers == 2 ? 2
                                       : 1>(
                operands.count, [&]<int count>(std::integral_constant<int, count>, Index first) {
                    lu_group<registers>(operands, first, std::make_integer_sequence<int, count>{});
                });
        });
    }

    static void cholesky(const SmallCholeskyOperands<T>& operands) {
        with_registers(operands.n, [&]<int registers>(std::integral_constant<int, registers>) {
            for (Index i = 0; i < operands.count; ++i) {
                operands.info[i] = SmallCholesky<T, registers>(operands.n, operands.a[i], operands.lda).factor();
            }
        });
    }

  private:
    template <class Run>
    static void with_registers(Index n, const Run& run) {
        if (n <= lanes) return run(std::integral_constant<int, 1>{});
        if (n <= 2 * lanes) return run(std::integral_constant<int, 2>{});
        if (n <= 3 * lanes) return run(std::integral_constant<int, 3>{});
        run(std::integral_constant<int, 4>{});
    }

    /// Calls group(number, first) for `together` matrices at a time, and for single ones that are left.
    template <int together, class Group>
    static void in_groups(Index count, const Group& group) {
        Index i = 0;
        for (; i + together <= count; i += together) group(std::integral_constant<int, together>{}, i);
        for (; i < count; ++i) group(std::integral_constant<int, 1>{}, i);
    }

    /// The matrices behind `count` ones from `first` on; null where there are none.
    template <int count>
    static void find_next(const SmallLuOperands<T>& o, Index first, const T* (&next)[count]) {
        for (int i = 0; i < count; ++i) {
            const Index behind = first + count + i, further = behind - o.count;
            next[i] = behind < o.count ? o.a[behind] : further < o.next_count ? o.next[further] : nullptr;
        }
    }

    template <int registers, int... I>
    static void lu_group(const SmallLuOperands<T>& o, Index first, std::integer_sequence<int, I...>) {
        using Lu = SmallLu<T, registers>;
        constexpr int count = sizeof...(I);
        Lu lu[count] = {((void)I, Lu(o.n))...};
        const T* next[count];
        find_next(o, first, next);
        Lu::factor(lu, o.a + first, o.lda, next);
        if (o.cols > 0) Lu::solve(lu, o.cols, o.b + first, o.ldb);
        for (int i = 0; i < count; ++i) {
            if (o.lu != nullptr) lu[i].store(o.lu[first + i], o.ldlu);
            if (o.pivots != nullptr) lu[i].store_pivots(o.pivots[first + i]);
            o.info[first + i] = lu[i].info();
        }
    }
};

#else

template <class T>
struct SmallKernels {
    static constexpr Index order = 0;
    static constexpr void (*lu)(const SmallLuOperands<T>&) = nullptr;
    static constexpr void (*cholesky)(const SmallCholeskyOperands<T>&) = nullptr;
};

#endif

}  // namespace
}  // namespace basalt::simd
