#pragma once

#include "kernels/cuda/common/device_code.hpp"

namespace basalt::cuda_detail {

/// Neighbours in a row.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
    T first, second;
};

template <bool wide, class T>
BASALT_DEVICE Pair<T> load_pair(const T* at) {
    if constexpr (wide) return *reinterpret_cast<const Pair<T>*>(at);
    return {at[0], at[1]};
}

template <bool wide, class T>
BASALT_DEVICE void store_pair(T* at, Pair<T> pair) {
    if constexpr (wide) {
        *reinterpret_cast<Pair<T>*>(at) = pair;
    } else {
        at[0] = pair.first;
        at[1] = pair.second;
    }
}

}  // namespace basalt::cuda_detail
