#pragma once

#include <bit>
#include <cstdint>

#include "kernels/cuda/batch/eliminate.hpp"

/// How lanes find the pivot of a column among the rows that they have.
namespace basalt::cuda_detail::batch {

BASALT_DEVICE int count_bits(unsigned bits) {
#ifdef __CUDA_ARCH__
    return __popc(bits);
#else
    return std::popcount(bits);
#endif
}
BASALT_DEVICE int lowest_bit(unsigned bits) {
#ifdef __CUDA_ARCH__
    return __ffs(static_cast<int>(bits)) - 1;
#else
    return std::countr_zero(bits);
#endif
}

BASALT_DEVICE float magnitude(float x) { return x < 0 ? -x : x; }
BASALT_DEVICE double magnitude(double x) { return x < 0 ? -x : x; }

/// The upper and the lower half of a magnitude, as integers of the same order.
struct MagnitudeBits {
    unsigned high, low;
};
BASALT_DEVICE MagnitudeBits magnitude_bits(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    return {static_cast<unsigned>(bits >> 32) & 0x7fffffffU, static_cast<unsigned>(bits)};
}
BASALT_DEVICE MagnitudeBits magnitude_bits(float x) { return {std::bit_cast<std::uint32_t>(x) & 0x7fffffffU, 0}; }

template <class T>
BASALT_DEVICE bool is_zero(T x) {
    const MagnitudeBits bits = magnitude_bits(x);
    return (bits.high | bits.low) == 0;
}
template <class T>
BASALT_DEVICE bool is_finite(T x) {
    return magnitude_bits(x).high < (sizeof(T) == 8 ? 0x7ff00000U : 0x7f800000U);
}

/// Orders candidates for a pivot, up to the lower half of magnitudes and places: the largest key wins. A row that was a
/// pivot before has 0. NaN wins on the diagonal, and counts less than a number elsewhere.
template <class T>
BASALT_DEVICE unsigned pivot_key(T x, int place, int k) {
    constexpr unsigned infinity = sizeof(T) == 8 ? 0x7ff00000U : 0x7f800000U;
    const MagnitudeBits bits = magnitude_bits(x);
    const bool nan = bits.high + (bits.low < 1 ? bits.low : 1) > infinity;
    const unsigned number = nan ? 1U : bits.high + 2, there = place < k ? 0U : 0xffffffffU;
    return (place == k && nan ? 0xffffffffU : number) & there;
}

/// One bit for the lane with the best key; `best` says whether that is the caller. Equal keys are rare, so that one
/// reduction is enough as a rule; low() and place() decide between them. meanwhile() runs while the reduction does.
template <class T, class Thread, class Low, class Place, class Meanwhile>
BASALT_DEVICE unsigned best_lane(const Thread& thread, unsigned key, bool& best, const Low& low, const Place& place,
                                 const Meanwhile& meanwhile) {
    const unsigned largest = thread.largest_of_lanes(key);
    meanwhile();
    best = key == largest;
    const unsigned equal = thread.ballot(best);
    if (__builtin_expect((equal & (equal - 1)) == 0, 1)) return equal;
    if (largest == 0) {  // none takes part
        best = thread.lane == 0;
        return 1;
    }
    if constexpr (sizeof(T) == 8) {
        const unsigned own = best ? low() : 0, most = thread.largest_of_lanes(own);
        best = best && own == most;
    }
    const unsigned own = best ? ~static_cast<unsigned>(place()) : 0, first = thread.largest_of_lanes(own);
    best = best && own == first;
    return thread.ballot(best);
}

/// The same for each group of `own_lanes` lanes, with its bits of the warp. In each group one takes part.
template <int own_lanes, class T, class Thread, class Low, class Place, class Meanwhile>
BASALT_DEVICE unsigned best_lane_of_group(const Thread& thread, unsigned key, bool& best, const Low& low,
                                          const Place& place, const Meanwhile& meanwhile) {
    if constexpr (own_lanes == 32) {
        return best_lane<T>(thread, key, best, low, place, meanwhile);
    } else {
        const auto largest_of_group = [&](unsigned value) {
            if constexpr (own_lanes == 16) {  // two reductions take less time than four exchanges
                const bool lower = thread.lane < 16;
                const unsigned first = thread.largest_of_lanes(lower ? value : 0U);
                const unsigned second = thread.largest_of_lanes(lower ? 0U : value);
                return lower ? first : second;
            } else {
                BASALT_UNROLL
                for (int distance = own_lanes / 2; distance > 0; distance /= 2) {
                    const unsigned other = thread.from_lane(value, thread.lane ^ distance);
                    value = other > value ? other : value;
                }
                return value;
            }
        };
        const unsigned group = ((1U << own_lanes) - 1) << (thread.lane / own_lanes * own_lanes);
        const unsigned largest = largest_of_group(key);
        meanwhile();
        best = key == largest;
        const unsigned equal = thread.ballot(best) & group;
        if (__builtin_expect(thread.ballot((equal & (equal - 1)) != 0) == 0, 1)) return equal;
        if constexpr (sizeof(T) == 8) {
            const unsigned own = best ? low() : 0, most = largest_of_group(own);
            best = best && own == most;
        }
        const unsigned own = best ? ~static_cast<unsigned>(place()) : 0, first = largest_of_group(own);
        best = best && own == first;
        return thread.ballot(best) & group;
    }
}

/// What x is multiplied by for its quotient by a pivot; 0 where only a division is right, because the reciprocal may
/// not be a normal number. A zero pivot leaves x. There are no branches, so that other instructions run meanwhile.
template <class T, class Thread>
BASALT_DEVICE T reciprocal_or_zero(const Thread& thread, T pivot) {
    constexpr unsigned least = sizeof(T) == 8 ? 23U << 20 : 7U << 23, most = sizeof(T) == 8 ? 2023U << 20 : 247U << 23;
    const T reciprocal = normal_reciprocal(thread, pivot);
    const unsigned high = magnitude_bits(pivot).high;
    const T other = is_zero(pivot) ? T{1} : T{0};
    return high - least < most - least ? reciprocal : other;
}

}  // namespace basalt::cuda_detail::batch
