#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/cuda/common/block_thread.cuh"

/// The rows that may become a pivot: which is the best one, and what of it travels.
namespace basalt::cuda_detail {

constexpr unsigned lane_bits = warp_lanes - 1;

__device__ inline unsigned upper_half(std::uint64_t bits) { return static_cast<unsigned>(bits >> 32); }

/// How good a row is as a pivot: the larger absolute value, of equal ones the row that is further up. Absolute values
/// are compared as integers, as which they are in the same order.
struct alignas(16) PivotKey {
    std::uint64_t magnitude = 0;
    unsigned row = ~0U;
    unsigned holder = 0;  ///< in whose registers it is, where that matters; fills the 16 bytes that are copied at once

    __device__ bool exists() const { return row != ~0U; }
    __device__ unsigned upper() const { return upper_half(magnitude); }

    __device__ bool better_than(const PivotKey& other) const {
        // no branches: all rows of a thread are compared one after the other
        return (magnitude > other.magnitude) | ((magnitude == other.magnitude) & (row < other.row));
    }
};

template <class T>
__device__ std::uint64_t absolute_bits(T value) {
    if constexpr (sizeof(T) == 8) {
        return static_cast<std::uint64_t>(__double_as_longlong(value)) & ~(std::uint64_t{1} << 63);
    } else {
        return static_cast<std::uint64_t>(__float_as_uint(value) & 0x7fffffffU) << 32;
    }
}

/// Their upper half alone.
template <class T>
__device__ unsigned upper_absolute_bits(T value) {
    if constexpr (sizeof(T) == 8) {
        return static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffU;
    } else {
        return __float_as_uint(value) & 0x7fffffffU;
    }
}

/// As BLAS's idamax: NaN is never better than another candidate, but stays the best where it comes first.
template <class T>
__device__ std::uint64_t magnitude(T value, bool on_diagonal) {
    const std::uint64_t bits = absolute_bits(value);
    const std::uint64_t no_number = on_diagonal ? ~std::uint64_t{0} : 0;
    return bits > absolute_bits(std::numeric_limits<T>::infinity()) ? no_number : bits;
}

/// The upper half of a key's magnitude with the lane's number in its lowest five bits. The number is inverted, so lane
/// 0 has the largest. The maximum over a warp names the lane with the best key, unless several keys have the same upper
/// bits. If no lane has a key, it names lane 0.
struct Tagged {
    unsigned bits;

    __device__ Tagged(unsigned upper, int lane)
        : bits((upper & ~lane_bits) | (static_cast<unsigned>(lane) ^ lane_bits)) {}

    /// All lanes call it. It takes its time: something else may be done before the result is asked for.
    __device__ void take_largest_of_warp() { bits = __reduce_max_sync(0xffffffffU, bits); }
    __device__ int lane() const { return static_cast<int>(~bits & lane_bits); }
    __device__ bool level_with(unsigned upper) const { return ((upper ^ bits) & ~lane_bits) == 0; }
};

/// The lane of a warp that has the best key, by all bits.
__device__ inline int best_lane(const PivotKey& mine) {
    constexpr unsigned all = 0xffffffffU;
    const unsigned high = mine.upper(), low = static_cast<unsigned>(mine.magnitude);
    const unsigned highest = __reduce_max_sync(all, high), lowest = __reduce_max_sync(all, high == highest ? low : 0U);
    const bool tied = high == highest && low == lowest;
    const unsigned row = __reduce_min_sync(all, tied ? mine.row : ~0U);
    return __ffs(static_cast<int>(__ballot_sync(all, tied && mine.row == row))) - 1;
}

/// Whether it need not be the lane that `best` names.
__device__ inline bool contested(const PivotKey& mine, const Tagged& best, int lane) {
    return __any_sync(0xffffffffU, mine.exists() && best.level_with(mine.upper()) && lane != best.lane());
}

__device__ inline int best_lane(const PivotKey& mine, int lane) {
    Tagged best(mine.upper(), lane);
    best.take_largest_of_warp();
    return contested(mine, best, lane) ? best_lane(mine) : best.lane();
}

/// What a column is multiplied by where an element becomes the pivot.
template <class T>
struct alignas(16) PivotScale {
    T inverse;  ///< of the pivot times `first`, or 1 where the pivot is zero
    T first;    ///< 1, or of a denormal pivot, whose own inverse may overflow, a power of two
};

/// A row that some threads propose as pivot.
template <class T, int width>
struct alignas(16) ProposedRow {
    PivotKey key;
    struct alignas(16) Row {
        PivotScale<T> scale;
        T values[width];  ///< from the pivot's column on
    } row;

    static_assert(sizeof(Row) == sizeof(PivotScale<T>) + width * sizeof(T));

    /// Words of 16 bytes that hold the first `values` values and what comes before them.
    static __device__ int words_with(int values) {
        constexpr int word = static_cast<int>(sizeof(uint4)),
                      first = static_cast<int>(sizeof(PivotKey) + offsetof(Row, values));
        return (first + values * static_cast<int>(sizeof(T)) + word - 1) / word;
    }
};

/// The row that all agree on, and what of it is needed first.
template <class Row>
struct PivotRow {
    unsigned from, holder;
    const Row* row;
    decltype(Row::scale) scale;
    std::remove_cvref_t<decltype(Row::values[0])> second;  ///< value

    __device__ PivotRow(const PivotKey& key, const Row& of)
        : from(key.row), holder(key.holder), row(&of), scale(of.scale), second(of.values[1]) {}
};

}  // namespace basalt::cuda_detail
